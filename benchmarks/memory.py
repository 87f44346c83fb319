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

from benchmarks.asking_speed import ours, planned
from novarag.runs import tune_gc
from tests.support.chaos.serving import chaos

SAMPLES = 16


def one(trials: int, url: str) -> None:
    tune_gc()
    with tempfile.TemporaryDirectory() as folder:
        job = planned(trials // SAMPLES, 64, 0, folder, samples=SAMPLES)
        began, cpu = time.monotonic(), time.process_time()
        board = asyncio.run(ours(url, job))
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
                [sys.executable, "-m", "benchmarks.memory", "--one", str(size), url],
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
