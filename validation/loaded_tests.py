"""Unit and law tests beside busy processes: what waits for seconds instead of events fails here.

Usage: python -m validation.loaded_tests [--runs 3] [--busy 4] [--workers 6] [PATH…]

Busy processes are children of this one, so that a scheduler that shares by session counts them
with the tests. The tests run in more workers than there are cores, so that they also crowd each
other. The line of each run has what its tests closed with.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Process

from tests.support.machine import described

PATHS = ("tests/laws", "tests/unit")
MARKED = "not data and not install"


def spin() -> None:
    """Keep one core as busy as it lets itself be kept."""
    while True:
        pass


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many processes busy meanwhile."""
    made = [Process(target=spin, daemon=True) for _ in range(count)]
    for process in made:
        process.start()
    try:
        yield
    finally:
        for process in made:
            process.kill()


def main() -> int:
    """Run the tests so many times, and print how each run ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", default=PATHS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--busy", type=int, default=4)
    parser.add_argument("--workers", type=int, default=6)
    options = parser.parse_args()
    beside = f"{options.workers} workers beside {options.busy} busy processes"
    print(described(beside), flush=True)
    workers = ["-n", str(options.workers)]
    failed = 0
    for number in range(1, options.runs + 1):
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", *workers, "-m", MARKED, *options.paths]
        with busy(options.busy):
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        lines = done.stdout.splitlines()
        if done.returncode:
            begun = next((n for n, line in enumerate(lines) if " FAILURES " in line), 0)
            print("\n".join(lines[begun:]))
        minutes = (time.monotonic() - began) / 60
        print(f"run {number}: {lines[-1] if lines else 'nothing'} ({minutes:.0f} min)", flush=True)
        failed += done.returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
