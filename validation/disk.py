"""Full disks: is everything noticed, and is nothing paid twice that was not in flight?

Fills a small tmpfs at many different points and makes room again (needs root for mount).
"""

from __future__ import annotations

import argparse
import asyncio
import io
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import polars as pl

from benchmarks.asking_speed import groups
from novarag.calls import Sampling
from novarag.errors import StorageError
from novarag.llm.chat import ChatLLM
from novarag.runs import Job, ProgressBoard, Settings, drive, open_store, plan
from novarag.strategies import NOVA
from novarag.web.endpoint import parse_endpoint
from novarag.web.sending import Patience
from tests.support.chaos.serving import bill, chaos


def settings(samples: int, size: int) -> Settings:
    return Settings(
        strategy="nova", template_hash=NOVA.template.hash, model="chaos", samples=samples,
        sampling=Sampling(temperature=1.0), shard_size=size,
    )  # fmt: skip


def table(folder: Path, kind: str) -> pl.DataFrame:
    """Read a table through memory, so that no mapped file keeps the disk busy."""
    files = sorted((folder / kind).glob("*.parquet"))
    return pl.concat([pl.read_parquet(io.BytesIO(file.read_bytes())) for file in files])


def trials(folder: Path) -> pl.DataFrame:
    return table(folder, "trials")


SAMPLES = 2


def mount(folder: Path, size: int) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)


def filled(points: int) -> bool:
    tally, messages = Counter(), Counter()
    with tempfile.TemporaryDirectory() as name, chaos(latency=0.002) as url:
        reference, folder = Path(name, "reference"), Path(name, "disk")
        go(reference, url)
        whole = trials(reference)
        used = sum(p.stat().st_size for p in reference.rglob("*") if p.is_file())
        folder.mkdir()
        for point in range(points):
            size = 16_384 + (used - 16_384) * point // points
            before = bill(url)
            mount(folder, size)
            try:
                try:
                    go(folder / "run", url)
                    tally["did not fill"] += 1
                except StorageError as error:
                    messages[str(error).split(": ", 1)[1]] += 1
                subprocess.run(["mount", "-o", f"remount,size={20 * used}", folder], check=True)
                go(folder / "run", url)
                after = bill(url)
                ledger = table(folder / "run", "attempts")
                fresh = after["attempts"].keys() - before["attempts"].keys()
                tally["same table"] += trials(folder / "run").equals(whole)
                tally["unaccounted calls"] += len(fresh - set(ledger["attempt"]))
                tally["paid again"] += len(fresh) - len(whole) // SAMPLES
                tally["in flight when the disk was full"] += len(
                    ledger.filter(outcome="unknown, cut off by a kill")
                )
            finally:
                subprocess.run(["umount", folder], check=True)
    print(f"{points} full disks, from 16 kB to {used:,} bytes")
    for what, count in (tally + messages).items():
        print(f"  {count:6,} {what}")
    fine = (
        tally["same table"] == points
        and not tally["unaccounted calls"]
        and not tally["did not fill"]
    )
    return fine and tally["paid again"] <= tally["in flight when the disk was full"]


def go(folder: Path, url: str) -> None:
    store = open_store(folder)
    manifest = plan(store, partial(groups, 300), settings(SAMPLES, 100), name="g", source_hash="h")
    job = Job(store=store, manifest=manifest, strategy=NOVA, concurrency=16)
    connect = partial(ChatLLM, [parse_endpoint(f"{url}=chaos")], patience=Patience(concurrency=16))
    asyncio.run(drive(job, connect, board=ProgressBoard(), stop=asyncio.Event()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    began, fine = time.monotonic(), filled(parser.parse_args().times)
    print(
        f"{'as it should be' if fine else 'NOT as it should be'}, {time.monotonic() - began:.0f} s"
    )
    sys.exit(not fine)


if __name__ == "__main__":
    main()
