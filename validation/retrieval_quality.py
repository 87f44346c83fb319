"""What the index of `retrieval_index.py` finds, beside strangers that look for the same.

    python -m validation.retrieval_quality [FOLDER]

BM25 against the figures of the data's README and against bm25s; vectors against brute force; fusion
against both; and on the HotpotQA part, the third-party runs that come with the data.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from novarag.records import Document, Passage
from novarag.retrieval.building import fill
from novarag.retrieval.chunks import cut
from novarag.retrieval.manifest import ANALYZERS, IndexManifest
from novarag.retrieval.milvus import _key, create_index, open_index
from novarag.retrieval.searching import MilvusRetriever
from tests.support.machine import described, shared_data
from tools.retrieval_index import ENCODER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.retrieval.milvus import MilvusIndex

DEPTHS = (1, 5, 20)
SMALL = "hotpotqa-dev500"
_FIGURES = re.compile(r"(\S+) (\.[0-9]+)/(\.[0-9]+)/(\.[0-9]+)")
_WORD = re.compile(r"[^\W_]+")
_ALLOWED = 0.015


@dataclass
class Checks:
    """Claims that held or did not."""

    failed: int = 0

    def __call__(self, what: str, *, holds: bool) -> None:
        print(f"{'holds' if holds else 'FAILS'}: {what}")
        self.failed += not holds


def questions() -> pl.DataFrame:
    """Return the questions that have gold passages."""
    table = pl.read_parquet(shared_data() / "retrieval" / "questions.parquet")
    return table.filter(pl.col("gold_ids").list.len() > 0)


def corpus(source: str | None = None) -> pl.DataFrame:
    table = pl.read_parquet(shared_data() / "retrieval" / "corpus.parquet")
    return table if source is None else table.filter(pl.col("source") == source)


def published() -> dict[str, tuple[float, ...]]:
    """Read the baseline figures out of the data's README."""
    text = (shared_data() / "README.md").read_text("utf-8")
    (line,) = (part for part in text.splitlines() if part.startswith("Baseline BM25"))
    return {m[1]: tuple(map(float, m.groups()[1:])) for m in _FIGURES.finditer(line)}


def search(index: MilvusIndex, asked: Sequence[str], *, mode: str, encoder=None, k: int = 20):
    """Return the ids found for each question."""
    retriever = MilvusRetriever(index, mode=mode, encoder=encoder)
    found = asyncio.run(retriever.search(asked, k=k))
    return [[p.source for p in some] for some in found]


def hits(found: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> tuple[float, ...]:
    """Return hit@1, @5 and @20."""
    pairs = list(zip(found, gold, strict=True))
    return tuple(float(np.mean([not set(g).isdisjoint(f[:k]) for f, g in pairs])) for k in DEPTHS)


def by_dataset(table: pl.DataFrame, found: list[list[str]]) -> dict[str, tuple[float, ...]]:
    shown = table.with_columns(pl.Series("found", found))
    return {
        str(name): hits(part["found"].to_list(), part["gold_ids"].to_list())
        for (name,), part in shown.group_by(["dataset"], maintain_order=True)
    }


def analyser():
    """Return what takes a text apart as the engine does, in Python: same words, same stems."""
    import Stemmer

    lower, stop, stem = ANALYZERS["english"]["filter"]
    assert lower == "lowercase"
    dull, stemmer = frozenset(stop["stop_words"]), Stemmer.Stemmer(stem["language"])
    return lambda text: stemmer.stemWords([w for w in _WORD.findall(text.lower()) if w not in dull])


def stranger(table: pl.DataFrame, asked: Sequence[str], *, k: int = 5) -> list[list[str]]:
    """Search with bm25s (Lucene's formula), over the same words."""
    import bm25s

    analyse = analyser()
    other = bm25s.BM25(method="lucene", k1=IndexManifest().k1, b=IndexManifest().b)
    rows = table.select("title", "text").iter_rows()
    other.index([analyse(f"{title}\n{text}") for title, text in rows], show_progress=False)
    ids = np.array(table["id"].to_list())
    found, _ = other.retrieve([analyse(q) for q in asked], corpus=ids, k=k, show_progress=False)
    return [list(map(str, row)) for row in found]


def overlap(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]], *, k: int = 5) -> float:
    pairs = zip(ours, theirs, strict=True)
    return float(np.mean([len(set(a[:k]) & set(b[:k])) / k for a, b in pairs]))


def vectors_of(index: MilvusIndex, ids: Sequence[str]) -> np.ndarray:
    """Read the vectors of passages back from the engine, in the order of the ids."""
    keys = [_key(Passage(text="", source=name)) for name in ids]
    found: dict[str, np.ndarray] = {}
    for start in range(0, len(keys), 1000):
        rows = index._client.query(
            index.name, ids=keys[start : start + 1000], output_fields=["key", "dense"]
        )
        found |= {row["key"]: np.asarray(row["dense"], dtype=np.float32) for row in rows}
    return np.stack([found[key] for key in keys])


def brute_force(vectors, ids: Sequence[str], asked, found: Sequence[Sequence[str]]) -> float:
    """Return the share of questions whose top 5 are the top 5 of all dot products.

    Passages with the same text have the same score, so scores are compared, not names.
    """
    place = {name: i for i, name in enumerate(ids)}
    right = 0
    for vector, names in zip(asked, found, strict=True):
        scores = vectors @ vector
        best = np.sort(np.partition(scores, -5)[-5:])[::-1]
        ours = scores[[place[name] for name in names[:5]]]
        right += bool(np.allclose(ours, best, atol=1e-5))
    return right / len(found)


def line(name: str, figures: tuple[float, ...], *, n: int | None = None) -> None:
    shown = " ".join(f"{100 * f:6.1f}" for f in figures)
    print(f"  {name:<34}{shown}" + (f"   {n:,} questions" if n else ""))


def reference_runs(table: pl.DataFrame) -> dict[str, list[list[str]]]:
    """Return the third-party runs over the HotpotQA part, in the order of the questions."""
    path = shared_data() / "retrieval" / "reference_runs_hotpot500.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = {row["qid"]: row for row in map(json.loads, lines)}
    return {kind: [rows[qid][kind] for qid in table["qid"]] for kind in ("bm25", "dense", "rerank")}


class Remembered:
    """An encoder that looks up vectors made before, by text."""

    def __init__(self, encoder, texts: Sequence[str], vectors) -> None:
        self.identity, self._encoder = encoder.identity, encoder
        self._known = dict(zip(texts, vectors, strict=True))

    async def encode(self, texts: Sequence[str], *, query: bool = False):
        if query:
            return await self._encoder.encode(texts, query=True)
        return np.stack([self._known[text] for text in texts])


def indexed(uri: str, table: pl.DataFrame, encoder=None) -> MilvusIndex:
    """Index passages as they are, and leave the index open."""
    index = create_index(uri, IndexManifest(words=0, encoder=encoder and encoder.identity))
    rows = table.select("id", "title", "text").iter_rows()
    documents = (Document(id=name, title=title, text=text) for name, title, text in rows)
    asyncio.run(fill(index, cut(documents, words=0), encoder=encoder))
    return index


def check_small(index: MilvusIndex, encoder, checks: Checks) -> None:
    """Measure the HotpotQA part beside the third-party runs, bm25s and brute force."""
    table, passages = questions().filter(pl.col("dataset") == SMALL), corpus(SMALL)
    asked, gold = table["question"].to_list(), table["gold_ids"].to_list()
    print(f"{len(passages):,} HotpotQA passages, {len(asked):,} questions; hit@1, @5, @20 in %:")
    theirs = {kind: hits(run, gold) for kind, run in reference_runs(table).items()}
    found = {m: search(index, asked, mode=m, encoder=encoder) for m in ("bm25", "dense", "hybrid")}
    ours = {mode: hits(ids, gold) for mode, ids in found.items()}
    for name, figures in ours.items():
        line(f"ours, {name}", figures)
    for name, figures in theirs.items():
        line(f"third party, {name}", figures)
    same = overlap(found["bm25"], stranger(passages, asked))
    checks(f"top-5 overlap with bm25s {same:.4f}, at least 0.96", holds=same >= 0.96)
    ids = passages["id"].to_list()
    exact = brute_force(
        vectors_of(index, ids), ids, asyncio.run(encoder.encode(asked, query=True)), found["dense"]
    )
    checks(f"dense top 5 are those of brute force in {exact:.1%}, all", holds=exact == 1)


def show_by_dataset(mode: str, table: pl.DataFrame, found: list[list[str]]) -> None:
    print(f"{mode}; hit@1, @5, @20 in %:")
    sizes = dict(table.group_by("dataset").len().iter_rows())
    for name, figures in by_dataset(table, found).items():
        line(name, figures, n=sizes[name])
    line("pooled", hits(found, table["gold_ids"].to_list()), n=len(table))


def check_words(index: MilvusIndex, checks: Checks) -> list[list[str]]:
    """Measure BM25 on the whole corpus beside the README's figures and bm25s."""
    table = questions()
    asked = table["question"].to_list()
    found = search(index, asked, mode="bm25")
    show_by_dataset("bm25", table, found)
    ours = by_dataset(table, found)
    for name, theirs in published().items():
        short = max(t - o for t, o in zip(theirs, ours[name], strict=True))
        shown = f"{name}: BM25 at worst {100 * -short:+.1f} points from the README's figures"
        checks(shown + ", at least -1.5", holds=short <= _ALLOWED)
    same = overlap(found, stranger(corpus(), asked))
    checks(f"top-5 overlap with bm25s {same:.4f}, at least 0.96", holds=same >= 0.96)
    return found


def check_all(index: MilvusIndex, encoder, checks: Checks) -> None:
    """Measure the whole corpus by words, by vectors and by both."""
    table, passages = questions(), corpus()
    asked, gold = table["question"].to_list(), table["gold_ids"].to_list()
    print(f"{index.count():,} passages")
    found = {"bm25": check_words(index, checks)}
    for mode in ("dense", "hybrid"):
        found[mode] = search(index, asked, mode=mode, encoder=encoder)
        show_by_dataset(mode, table, found[mode])
    ids = passages["id"].to_list()
    vectors = asyncio.run(encoder.encode(asked, query=True))
    exact = brute_force(vectors_of(index, ids), ids, vectors, found["dense"])
    checks(f"dense top 5 are those of brute force in {exact:.1%}, all", holds=exact == 1)
    five = {mode: hits(run, gold)[1] for mode, run in found.items()}
    better = max(five["bm25"], five["dense"])
    checks(
        f"pooled hit@5: hybrid {five['hybrid']:.1%}, better of the two {better:.1%}",
        holds=five["hybrid"] >= better,
    )


def main(folder: Path) -> int:
    import tempfile

    from novarag.flows.encoders import open_encoder

    print(described())
    encoder, checks = asyncio.run(open_encoder(ENCODER)), Checks()
    with open_index(str(folder / "corpus.db")) as index:
        check_all(index, encoder, checks)
        part = corpus(SMALL)
        known = vectors_of(index, part["id"].to_list())
    texts = [f"{title}\n{text}" for title, text in part.select("title", "text").iter_rows()]
    with (
        tempfile.TemporaryDirectory() as place,
        indexed(f"{place}/small.db", part, Remembered(encoder, texts, known)) as index,
    ):
        check_small(index, encoder, checks)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/retrieval")))
