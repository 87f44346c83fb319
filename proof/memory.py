"""Does the memory of a run grow with its trials? Sixteen samples a request, peak of the process."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial

from asking_speed import groups
from chaos.serving import chaos
from novarag.calls import Sampling
from novarag.llm.chat import ChatLLM, Patience
from novarag.llm.endpoint import parse_endpoint
from novarag.runs import Board, Job, Settings, drive, ease_collector, open_store, plan
from novarag.strategies import NOVA

SAMPLES = 16


def one(trials: int, url: str) -> None:
    ease_collector()
    settings = Settings(
        strategy="nova",
        template_hash=NOVA.template.hash,
        model="chaos",
        samples=SAMPLES,
        sampling=Sampling(temperature=1.0),
    )
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(folder)
        manifest = plan(store, partial(groups, trials // SAMPLES), settings)
        job = Job(store=store, manifest=manifest, strategy=NOVA, concurrency=64)
        connect = partial(
            ChatLLM, [parse_endpoint(f"{url}=chaos")], patience=Patience(concurrency=64)
        )
        board, began, cpu = Board(), time.monotonic(), time.process_time()
        asyncio.run(drive(job, connect, board=board, stop=asyncio.Event()))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({
            "trials": board.total().trials, "peak_mb": peak, "seconds": time.monotonic() - began,
            "cpu_us_per_trial": (time.process_time() - cpu) / trials * 1e6,
        }))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(int(options.one[0]), options.one[1])
        return
    peaks = []
    for size in options.sizes:
        with chaos() as url:
            done = subprocess.run(
                [sys.executable, __file__, "--one", str(size), url],
                capture_output=True,
                text=True,
                check=True,
            )
        facts = json.loads(done.stdout)
        peaks.append(facts["peak_mb"])
        print(
            f"{facts['trials']:,} trials: peak {facts['peak_mb']:.0f} MB, {facts['seconds']:.0f} s, {facts['cpu_us_per_trial']:.0f} CPU us a trial",
            flush=True,
        )
    sys.exit(1 if max(peaks) > 300 or peaks[-1] > 1.3 * peaks[1 if len(peaks) > 2 else 0] else 0)


if __name__ == "__main__":
    main()
