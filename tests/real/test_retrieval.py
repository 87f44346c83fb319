"""The HotpotQA passages with real MiniLM vectors: beside third parties, bm25s and brute force."""

import asyncio

import pytest

from novarag.flows.encoders import open_encoder
from tools.retrieval_index import ENCODER
from validation.retrieval_quality import SMALL, Checks, check_small, corpus, indexed

pytestmark = [pytest.mark.data, pytest.mark.encoder]


def test_words_vectors_and_both(data, tmp_path):
    encoder, checks = asyncio.run(open_encoder(ENCODER)), Checks()
    with indexed(str(tmp_path / "small.db"), corpus(SMALL), encoder) as index:
        assert index.count() == 4937
        check_small(index, encoder, checks)
    assert not checks.failed
