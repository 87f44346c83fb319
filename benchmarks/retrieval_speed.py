"""The index beside the bare Milvus client, and what a query costs as the index grows.

    python -m benchmarks.retrieval_speed [FOLDER] [--sizes 10000,68559,500000] [--write]

FOLDER holds the index of `retrieval_index.py`, whose vectors are used; nothing is encoded here.
Beyond the corpus, filler: two halves of different passages joined, with the mean of their vectors.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from novarag.records import Passage
from novarag.retrieval.building import BATCH, fill
from novarag.retrieval.encoding import EncoderIdentity
from novarag.retrieval.manifest import IndexManifest
from novarag.retrieval.milvus import COLLECTION, create_index, open_index
from novarag.retrieval.searching import MODES, MilvusRetriever
from tests.support.machine import described
from validation.retrieval_quality import Checks, corpus, questions, vectors_of

INPUTS = Path(__file__).parents[1] / "docs" / "evidence" / "retrieval-inputs.json"
IDENTITY = EncoderIdentity(
    name="known", revision="1", dim=384, max_tokens=256, pooling="mean", normalised=True
)
MANIFEST = IndexManifest(words=0, encoder=IDENTITY)
ROUNDS, PART = 5, 10_000
_TICKS = os.sysconf("SC_CLK_TCK")


class Known:
    """An encoder that has all its vectors already."""

    identity = IDENTITY

    def __init__(self, known) -> None:
        self.known = known

    async def encode(self, texts, *, query=False):
        return np.stack([self.known[text] for text in texts])


@dataclass
class Material:
    """Passages with vectors, and questions with theirs."""

    passages: list[Passage]
    vectors: np.ndarray
    asked: list[str]
    near: np.ndarray

    def encoder(self) -> Known:
        texts = [p.text for p in self.passages] + self.asked
        return Known(dict(zip(texts, [*self.vectors, *self.near], strict=True)))

    def grown(self, size: int) -> Material:
        """Take so many passages, with filler beyond those there are."""
        chance, given = np.random.default_rng(0), len(self.passages)
        texts, vectors = [p.text for p in self.passages[:size]], [self.vectors[:size]]
        if size > given:
            pairs = chance.integers(given, size=(size - given, 2))
            texts += [_joined(self.passages[a].text, self.passages[b].text) for a, b in pairs]
            mixed = self.vectors[pairs[:, 0]] + self.vectors[pairs[:, 1]]
            vectors.append(mixed / np.linalg.norm(mixed, axis=1, keepdims=True))
        named = [Passage(text=t, source=str(i)) for i, t in enumerate(texts)]
        return Material(named, np.concatenate(vectors), self.asked, self.near)


def _joined(one: str, other: str) -> str:
    a, b = one.split(), other.split()
    return " ".join(a[: len(a) // 2] + b[len(b) // 2 :])


def material(folder: Path) -> Material:
    """Read the corpus and its vectors back from the index."""
    from novarag.flows.encoders import open_encoder
    from tools.retrieval_index import ENCODER

    table, asked = corpus(), questions()["question"].unique(maintain_order=True).to_list()
    rows = table.select("id", "title", "text").iter_rows()
    passages = [Passage(text=f"{title}\n{text}", source=name) for name, title, text in rows]
    with open_index(str(folder / "corpus.db")) as index:
        vectors = vectors_of(index, table["id"].to_list())
    encoder = asyncio.run(open_encoder(ENCODER))
    near = asyncio.run(encoder.encode(asked, query=True))
    seen: dict[str, int] = {}
    for i, passage in enumerate(passages):
        seen.setdefault(passage.text, i)
    kept = sorted(seen.values())  # one passage for each text: vectors are looked up by it
    return Material([passages[i] for i in kept], vectors[kept], asked, near)


def engine() -> tuple[float, int]:
    """Return the CPU seconds and the resident bytes of our engine's process."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            cells = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
            if int(cells[1]) == os.getpid() and (folder / "cmdline").read_bytes().startswith(b"/"):
                pages = int((folder / "statm").read_text("utf-8").split()[1])
                return (int(cells[11]) + int(cells[12])) / _TICKS, pages * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError):
            continue
    return 0.0, 0


def cpu() -> float:
    return time.process_time() + engine()[0]


def bare_fill(index, given: Material) -> None:
    """What a script against pymilvus does: rows, insert, flush."""
    client = index._client
    for start in range(0, len(given.passages), BATCH):
        part = slice(start, start + BATCH)
        rows = [
            {"key": f"{start + i:032}", "source": p.source, "text": p.text, "dense": v}
            for i, (p, v) in enumerate(zip(given.passages[part], given.vectors[part], strict=True))
        ]
        client.insert(COLLECTION, rows)
    client.flush(COLLECTION)


def bare_search(client, mode: str, given: Material, k: int) -> list:
    """What a script against pymilvus does: 128 queries a call, the fields of the hits."""
    from pymilvus import AnnSearchRequest, RRFRanker

    words = {"metric_type": "BM25", "params": {}}
    near = {"metric_type": "IP", "params": {}}
    fields, found = ["source", "text"], []
    for start in range(0, len(given.asked), 128):
        asked, vectors = given.asked[start : start + 128], list(given.near[start : start + 128])
        if mode == "hybrid":
            requests = [
                AnnSearchRequest(asked, "sparse", words, 50),
                AnnSearchRequest(vectors, "dense", near, 50),
            ]
            hits = client.hybrid_search(
                COLLECTION, requests, RRFRanker(2), limit=k, output_fields=fields
            )
        else:
            field, data, how = (
                ("sparse", asked, words) if mode == "bm25" else ("dense", vectors, near)
            )
            hits = client.search(
                COLLECTION, data, anns_field=field, limit=k, search_params=how, output_fields=fields
            )
        found += [[(h["entity"]["source"], h["entity"]["text"]) for h in some] for some in hits]
    return found


def indexing_ratio(given: Material) -> tuple[float, float]:
    """Return our rate over the bare client's, by wall and by CPU: medians of alternating rounds."""
    ratios = []
    for turn in range(ROUNDS):
        part = given.grown(PART)
        costs = {}
        for who in ("bare", "ours") if turn % 2 else ("ours", "bare"):
            with (
                tempfile.TemporaryDirectory() as folder,
                create_index(f"{folder}/{who}.db", MANIFEST) as index,
            ):
                encoder = part.encoder()
                wall, used = time.monotonic(), cpu()
                if who == "ours":
                    asyncio.run(fill(index, part.passages, encoder=encoder))
                else:
                    bare_fill(index, part)
                costs[who] = (time.monotonic() - wall, cpu() - used)
        ratios.append([costs["bare"][i] / costs["ours"][i] for i in (0, 1)])
    return tuple(median(r[i] for r in ratios) for i in (0, 1))


def search_ratio(index, given: Material, mode: str) -> tuple[float, float]:
    """Return our rate over the bare client's; both must find the same, fusion aside."""
    retriever, ratios = MilvusRetriever(index, mode=mode, encoder=given.encoder()), []
    for turn in range(ROUNDS):
        costs, found = {}, {}
        for who in ("bare", "ours") if turn % 2 else ("ours", "bare"):
            wall, used = time.monotonic(), cpu()
            if who == "ours":
                hits = asyncio.run(retriever.search(given.asked, k=5))
                found[who] = [[(p.source, p.text) for p in some] for some in hits]
            else:
                found[who] = bare_search(index._client, mode, given, 5)
            costs[who] = (time.monotonic() - wall, cpu() - used)
        if mode != "hybrid":  # the bare client's fusion is right for the first query of a call only
            assert found["ours"] == found["bare"]
        ratios.append([costs["bare"][i] / costs["ours"][i] for i in (0, 1)])
    return tuple(median(r[i] for r in ratios) for i in (0, 1))


def growth(given: Material, size: int, asked: int = 1000) -> dict[str, float]:
    """Measure one size: disk, memory, and CPU milliseconds a query by each mode."""
    part = given.grown(size)
    part.asked, part.near = part.asked[:asked], part.near[:asked]
    encoder = part.encoder()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x.db")
        with create_index(str(file), MANIFEST) as index:
            used = cpu()
            asyncio.run(fill(index, part.passages, encoder=encoder))
            inserting = cpu() - used
        disk = file.stat().st_size
        with open_index(str(file)) as index:
            figures = {
                "passages": float(size),
                "disk_bytes_per_passage": disk / size,
                "memory_bytes_per_passage": engine()[1] / size,
                "index_cpu_ms_per_passage": 1e3 * inserting / size,
            }
            for mode in MODES:
                retriever = MilvusRetriever(index, mode=mode, encoder=encoder)
                asyncio.run(retriever.search(part.asked[:50], k=5))
                used = cpu()
                asyncio.run(retriever.search(part.asked, k=5))
                figures[f"{mode}_cpu_ms_per_query"] = 1e3 * (cpu() - used) / asked
    return figures


def graph(given: Material, size: int) -> dict[str, float]:
    """Measure the graph that a server would walk (HNSW), by the library that Milvus builds on."""
    import faiss

    faiss.omp_set_num_threads(2)
    vectors = given.grown(size).vectors
    exact = faiss.IndexFlatIP(vectors.shape[1])
    exact.add(vectors)
    walked = faiss.IndexHNSWFlat(vectors.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
    walked.hnsw.efConstruction, walked.hnsw.efSearch = 200, 100
    used = time.process_time()
    walked.add(vectors)
    building = time.process_time() - used
    asked = given.near[:1000]
    used = time.process_time()
    _, found = walked.search(asked, 5)
    searching = time.process_time() - used
    _, right = exact.search(asked, 5)
    same = [len(set(a) & set(b)) / 5 for a, b in zip(found, right, strict=True)]
    return {
        "graph_cpu_ms_per_query": 1e3 * searching / len(asked),
        "graph_build_cpu_ms_per_vector": 1e3 * building / size,
        "graph_recall": float(np.mean(same)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/retrieval"))
    parser.add_argument("--sizes", default="10000,68559,500000")
    parser.add_argument("--write", action="store_true", help="keep the figures for scale.py")
    args = parser.parse_args()
    print(described())
    given, checks = material(args.folder), Checks()
    rate = indexing_ratio(given)
    checks(
        f"indexing at {rate[0]:.2f} of the bare client's rate, at least 0.7 (CPU {rate[1]:.2f})",
        holds=rate[0] >= 0.7,
    )
    part = given.grown(PART)
    with (
        tempfile.TemporaryDirectory() as folder,
        create_index(f"{folder}/x.db", MANIFEST) as index,
    ):
        asyncio.run(fill(index, part.passages, encoder=part.encoder()))
        for mode in MODES:
            rate = search_ratio(index, part, mode)
            checks(
                f"search by {mode} at {rate[0]:.2f} of the bare client's rate, at least 0.8"
                f" (CPU {rate[1]:.2f})",
                holds=rate[0] >= 0.8,
            )
    sizes = [int(size) for size in args.sizes.split(",")]
    rows = [growth(given, size) | graph(given, size) for size in sizes]
    for row in rows:
        print("  ".join(f"{name} {value:,.4g}" for name, value in row.items()))
    for mode in (*MODES, "graph"):
        name = f"{mode}_cpu_ms_per_query"
        steps = [
            np.log(b[name] / a[name]) / np.log(b["passages"] / a["passages"])
            for a, b in pairwise(rows)
        ]
        print(f"{mode}: cost grows as size to the power {', '.join(f'{s:.2f}' for s in steps)}")
    if args.write:
        kept = {
            "said": described(),
            "encode_cpu_ms_per_passage": json.loads((args.folder / "cost.json").read_text("utf-8"))[
                "encode_cpu_ms_per_passage"
            ],
            "sizes": [{k: float(f"{v:.5g}") for k, v in row.items()} for row in rows],
        }
        INPUTS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
