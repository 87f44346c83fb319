"""The constant of reciprocal rank fusion, chosen on half of the questions and tried on the others.

    python -m validation.fusion [FOLDER]

FOLDER holds the index of `retrieval_index.py`. With the usual 60, a passage that both searches rank
twentieth beats one that a single search ranks first, and fusion loses to the better search.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from zlib import crc32

import numpy as np

from novarag.retrieval.fusion import CONSTANT, fuse
from novarag.retrieval.milvus import open_index
from tests.support.machine import described
from tools.retrieval_index import ENCODER
from validation.retrieval_quality import questions, search

DEPTH = 50
CONSTANTS = (0, 1, 2, 5, 10, 20, 60)


def by_engine(index, asked: list[str], vectors) -> list[list[str]]:
    """Let the engine fuse with our constant, 128 queries in a call."""
    from pymilvus import AnnSearchRequest, RRFRanker

    found = []
    for start in range(0, len(asked), 128):
        part = slice(start, start + 128)
        words = AnnSearchRequest(asked[part], "sparse", {"metric_type": "BM25"}, DEPTH)
        near = AnnSearchRequest(list(vectors[part]), "dense", {"metric_type": "IP"}, DEPTH)
        hits = index._client.hybrid_search(
            index.name, [words, near], RRFRanker(CONSTANT), limit=5, output_fields=["source"]
        )
        found += [[hit["entity"]["source"] for hit in some] for some in hits]
    return found


def main(folder: Path) -> None:
    from novarag.flows.encoders import open_encoder

    print(described())
    table, encoder = questions(), asyncio.run(open_encoder(ENCODER))
    asked = table["question"].to_list()
    gold = [set(names) for names in table["gold_ids"].to_list()]
    chosen = np.array([crc32(name.encode()) % 2 == 0 for name in table["qid"]])
    with open_index(str(folder / "corpus.db")) as index:
        words = search(index, asked, mode="bm25", k=DEPTH)
        near = search(index, asked, mode="dense", encoder=encoder, k=DEPTH)
        vectors = asyncio.run(encoder.encode(asked, query=True))
        engine = by_engine(index, asked, vectors)
    ways = {"bm25": words, "dense": near, f"by the engine, {CONSTANT:g}": engine}
    for constant in CONSTANTS:
        both = [fuse(pair, constant=constant) for pair in zip(words, near, strict=True)]
        ways[f"fused, constant {constant}"] = both
    print(f"hit@5 in %: on {chosen.sum():,} questions to choose by, on {(~chosen).sum():,} others")
    for name, found in ways.items():
        hit = np.array([not g.isdisjoint(f[:5]) for f, g in zip(found, gold, strict=True)])
        print(f"  {name:<22}{100 * hit[chosen].mean():6.2f}{100 * hit[~chosen].mean():8.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/retrieval"))
