"""BM25 over the whole corpus, beside published figures and bm25s."""

import pytest

from tests.support.oracles import need
from validation.retrieval_quality import Checks, check_words, corpus, indexed

pytestmark = [pytest.mark.data, pytest.mark.oracle]


def test_bm25_finds_what_others_find(data, tmp_path):
    need("bm25s")
    need("Stemmer")
    checks = Checks()
    with indexed(str(tmp_path / "corpus.db"), corpus()) as index:
        assert index.count() == 68_559
        check_words(index, checks)
    assert not checks.failed
