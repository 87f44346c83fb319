"""Full disks and scratched files: is everything noticed, and is only the damaged asked again?

`full` fills a small tmpfs at many different points and makes room again (needs root for mount);
`scratch` flips, cuts or doubles bytes of any one file of a half-finished run.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import polars as pl

from benchmarks.asking_speed import groups
from novarag.calls import Attempt, CallError, Outcome, Reply, Sampling, Usage
from novarag.errors import StorageError
from novarag.llm.chat import ChatLLM
from novarag.records import Completion
from novarag.runs import Board, Job, Settings, drive, open_store, plan, run_shard
from novarag.runs.log_frames import Chain, Frame
from novarag.strategies import NOVA
from novarag.web.endpoint import parse_endpoint
from novarag.web.sending import Patience
from tests.support.chaos.server import reply_text
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


class Model:
    """Replies from the prompt alone, without a wire; `most` is how many replies it has."""

    def __init__(self, most: int | None = None) -> None:
        self.asked, self.most = 0, most

    async def __aenter__(self) -> Model:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        if self.asked == self.most:
            raise CallError(Outcome.DENIED, "enough")
        self.asked += 1
        attempt = f"{id(self):x}-{self.asked}"
        tell(Attempt(id=attempt, endpoint="model"))
        completions = tuple(
            Completion(text=reply_text(prompt, i), model="chaos") for i in range(sampling.n)
        )
        return Reply(completions=completions, usage=Usage(prompt=1, completion=1), attempt=attempt)


# — scratches —

QUESTIONS, SIZE, SAMPLES = 24, 8, 2


def half_finished(folder: Path) -> None:
    """Two of three shards: one finished, one cut off after five replies."""
    job = planned(folder, [].append)
    asyncio.run(run_shard(job, 0, Model()))
    with suppress(CallError):
        asyncio.run(run_shard(job, 1, Model(most=5)))


def planned(folder: Path, tell) -> Job:
    store = open_store(folder)
    manifest = plan(
        store,
        partial(groups, QUESTIONS),
        settings(SAMPLES, SIZE),
        name="g",
        source_hash="h",
        on_event=tell,
    )
    return Job(store=store, manifest=manifest, strategy=NOVA, concurrency=1)


def scratch(content: bytes, how: str, rng: Random) -> bytes:
    where = rng.randrange(len(content))
    if how == "flip":
        return (
            content[:where] + bytes([content[where] ^ 1 << rng.randrange(8)]) + content[where + 1 :]
        )
    if how == "truncate":
        return content[:where]
    end = where + 1 + rng.randrange(300)
    return content[:end] + content[where:end] + content[end:]


def replies_in(content: bytes, chain: Chain) -> int:
    frames = {p.link: p for p in chain.scan(content) if isinstance(p, Frame)}
    return sum(b'"event":"reply"' in frame.payload for frame in frames.values())


def scratched(times: int, seed: int) -> bool:
    rng, tally, files_hit = Random(seed), Counter(), Counter()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        base, work = Path(name, "base"), Path(name, "work")
        half_finished(base)
        shutil.copytree(base, work)
        model = Model()
        asyncio.run(
            drive(planned(work, [].append), lambda: model, board=Board(), stop=asyncio.Event())
        )
        whole, usual = trials(work), model.asked
        files = sorted(
            p.relative_to(base) for p in base.rglob("*") if p.is_file() and p.stat().st_size
        )
        for _ in range(times):
            shutil.rmtree(work)
            shutil.copytree(base, work)
            hit, how = rng.choice(files), rng.choice(["flip", "truncate", "double"])
            before = (work / hit).read_bytes()
            after = scratch(before, how, rng)
            (work / hit).write_bytes(after)
            reported: list[str] = []
            model = Model()
            job = planned(work, reported.append)
            chain = Chain(job.manifest.run, 1)
            for outlook in asyncio.run(
                drive(job, lambda m=model: m, board=Board(), stop=asyncio.Event())
            ):
                reported += outlook.damage
            lost = (
                replies_in(before, chain) - replies_in(after, chain)
                if hit.suffix == ".log" and hit.stem == "00001"
                else 0
            )
            files_hit[hit.parts[0]] += 1
            tally["noticed"] += bool(reported)
            tally["named"] += any(str(hit) in line for line in reported)
            tally["same table"] += trials(work).equals(whole)
            tally["asked no more than was damaged"] += model.asked == usual + lost
            tally["replies damaged"] += lost
            tally["replies asked again"] += model.asked - usual
    print(f"{times:,} scratches: {', '.join(f'{n} of {f}' for f, n in sorted(files_hit.items()))}")
    for what, count in tally.items():
        print(f"  {count:6,} {what}")
    return all(
        tally[k] == times
        for k in ("noticed", "named", "same table", "asked no more than was damaged")
    )


# — full disks —


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
    asyncio.run(drive(job, connect, board=Board(), stop=asyncio.Event()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["full", "scratch"])
    parser.add_argument("--times", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.monotonic()
    if options.what == "full":
        fine = filled(options.times or 50)
    else:
        fine = scratched(options.times or 5000, options.seed)
    print(
        f"{'as it should be' if fine else 'NOT as it should be'}, {time.monotonic() - began:.0f} s"
    )
    sys.exit(not fine)


if __name__ == "__main__":
    main()
