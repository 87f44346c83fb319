"""Groups with and without evidence from real retrieval over a corpus, by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.flows.events import silent
from novarag.flows.index import build_index
from novarag.flows.retrieve import retrieve
from novarag.records import Passage, PassageGroup
from novarag.taxonomy import PassageKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from novarag.flows.events import Tell
    from novarag.records import Question

_DEPTH = 20  # passages that are looked at for a question


def retrieved_pools(
    uri: str | Path, *, data: str | Path | None = None, on_event: Tell = silent
) -> dict[str, list[PassageGroup]]:
    """Return each split's questions with their gold passages and what BM25 finds for them.

    `uri` is an index of the corpus, made where it is not there yet; it needs Milvus
    (`novarag[milvus]`). `data` is the folder with retrieval/; left out, NOVARAG_DATA says it. Hand
    a split to `novarag.noise.retrieved.retrieved_groups` for groups of k passages.
    """
    from novarag.datasets.retrieved import corpus_file, corpus_texts, retrieved_questions

    asked, texts = retrieved_questions(data), corpus_texts(data)
    build_index([corpus_file(data)], uri, words=0, on_event=on_event)
    every = [question for split in asked.values() for question, _ in split]
    found = {
        group.question.id: [str(p.source) for p in group.passages]
        for group in retrieve(every, uri=uri, mode="bm25", k=_DEPTH, on_event=on_event).groups
    }
    return {
        split: [_pool(q, gold, found.get(q.id, []), texts) for q, gold in questions]
        for split, questions in asked.items()
    }


def _pool(
    question: Question, gold: Iterable[str], found: Iterable[str], texts: Mapping[str, str]
) -> PassageGroup:
    """Put gold first; titles are left out, as some gold passages have none."""
    known = dict.fromkeys(gold)
    passages = [
        Passage(
            text=texts[name],
            kind=PassageKind.GOLD if name in known else None,
            provenance=Provenance.RETRIEVED,
            source=name,
        )
        for name in dict.fromkeys([*known, *found])
    ]
    return PassageGroup(question=question, passages=tuple(passages), id=question.id)
