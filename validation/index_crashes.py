"""Kill an indexing process again and again, and see that what grows in the end is the same index.

    python -m validation.index_crashes [--kills 20] [--passages 30000] [--seed 0]

Every second kill takes the engine along; the others leave it to finish or not as it likes. Beside
the undisturbed index: same number, same ids and texts, same top 5 for 500 questions by words, by
vectors and by both.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl

from novarag.records import Document
from novarag.retrieval.building import BATCH, fill
from novarag.retrieval.chunks import cut
from novarag.retrieval.encoding import EncoderIdentity
from novarag.retrieval.manifest import IndexManifest
from novarag.retrieval.milvus import create_index, open_index
from novarag.retrieval.searching import MODES, MilvusRetriever
from tests.support.machine import described, shared_data

QUESTIONS = 500


class Chance:
    """An encoder that costs nothing: a vector drawn with the text as its seed."""

    identity = EncoderIdentity(
        name="chance", revision="1", dim=32, max_tokens=None, pooling="none", normalised=False
    )

    async def encode(self, texts, *, query=False):
        rows = [np.random.default_rng(crc32(t.encode())).normal(size=32) for t in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 32)


def passages(count: int):
    table = pl.read_parquet(shared_data() / "retrieval" / "corpus.parquet").head(count)
    rows = table.select("id", "title", "text").iter_rows()
    return cut((Document(id=i, title=t, text=x) for i, t, x in rows), words=0)


def work(uri: str, count: int) -> None:
    """Fill an index, telling of each batch."""
    with create_index(uri, IndexManifest(words=0, encoder=Chance.identity)) as index:
        print("open", flush=True)
        asyncio.run(
            fill(
                index, passages(count), encoder=Chance(),
                on_event=lambda growth: print(growth.seen, growth.added, flush=True),
            )
        )  # fmt: skip
    print("done", flush=True)


def contents(uri: str) -> tuple[int, dict[str, str], list]:
    """Return the number of passages, their ids and texts, and what 500 questions find."""
    asked = pl.read_parquet(shared_data() / "retrieval" / "questions.parquet")["question"]
    with open_index(uri) as index:
        rows: dict[str, str] = {}
        repeated = 0
        for row in _every(index):
            repeated += row["source"] in rows
            rows[row["source"]] = row["text"]
        assert not repeated, f"{repeated} passages are there twice"
        found = []
        for mode in MODES:
            retriever = MilvusRetriever(index, mode=mode, encoder=Chance())
            top = asyncio.run(retriever.search(asked.head(QUESTIONS).to_list(), k=5))
            found.append([[p.source for p in some] for some in top])
        return index.count(), rows, found


def _every(index):
    rows = index._client.query_iterator(
        index.name, batch_size=1000, output_fields=["source", "text"]
    )
    while batch := rows.next():
        yield from batch
    rows.close()


def kill(worker: subprocess.Popen, *, engine_too: bool) -> None:
    if engine_too:
        os.killpg(worker.pid, signal.SIGKILL)
    else:
        worker.kill()
    worker.communicate()


def start(uri: str, count: int) -> subprocess.Popen:
    command = [
        sys.executable,
        "-m",
        "validation.index_crashes",
        "--worker",
        uri,
        "--passages",
        str(count),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)


def _let_grow(output, batches: int) -> None:
    """Wait until so many batches were added, beyond those that were there."""
    added = 0
    while batches:
        _, now = map(int, output.readline().split())
        batches -= now > added
        added = now


def disturbed(uri: str, count: int, kills: int, seed: int) -> None:
    """Build an index with so many kills on the way."""
    chance = random.Random(seed)
    most = max(1, int(1.4 * count / BATCH / kills))  # so that the kills spread over the whole build
    done = midway = 0
    while done < kills:
        worker = start(uri, count)
        assert worker.stdout is not None
        if done % 4 == 3:  # some while the collection is made or opened
            time.sleep(chance.uniform(0.5, 2.5))
            kill(worker, engine_too=True)
            done, midway = done + 1, midway + 1
            continue
        assert worker.stdout.readline() == b"open\n", "it did not come back"
        _let_grow(worker.stdout, chance.randint(0, most))
        time.sleep(chance.uniform(0, 0.4))  # into the next batch
        alive = worker.poll() is None
        kill(worker, engine_too=done % 2 == 1)
        done += 1
        midway += alive
    worker = start(uri, count)
    last = worker.communicate()[0].splitlines()
    assert worker.returncode == 0
    assert last[-1] == b"done"
    seen, added = map(int, last[-2].split())
    print(
        f"{kills} kills, {midway} of them while it ran; the last start added {added:,} of {seen:,}"
    )
    assert midway == kills, "some kills came too late: give more passages"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--passages", type=int, default=68_559)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker, args.passages)
        return
    print(described())
    with tempfile.TemporaryDirectory() as folder:
        calm, killed = str(Path(folder, "calm.db")), str(Path(folder, "killed.db"))
        worker = start(calm, args.passages)
        assert worker.communicate()[0].endswith(b"done\n")
        disturbed(killed, args.passages, args.kills, args.seed)
        ours, theirs = contents(killed), contents(calm)
    assert ours[0] == theirs[0] == len(ours[1])
    assert ours[1] == theirs[1]
    for mode, one, other in zip(MODES, ours[2], theirs[2], strict=True):
        assert one == other, f"{mode} finds other passages"
    print(
        f"holds: {ours[0]:,} passages, the same ids and texts, the same top 5 of {QUESTIONS}"
        f" questions by {', '.join(MODES)}"
    )


if __name__ == "__main__":
    main()
