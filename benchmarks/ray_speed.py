"""How fast one Ray worker asks, beside the local driver: same server, same groups, same run.

Both rates come from the ledgers: replies per second while the middle four fifths of the replies
came in, so neither the start of a cluster nor the last stragglers count.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile

import polars as pl
import ray

from benchmarks.asking_speed import ours, planned
from novarag.runs import Driver, tune_gc
from tests.support.chaos.serving import chaos


def steady(folder: str) -> float:
    settled = pl.read_parquet(f"{folder}/attempts/*.parquet", columns=["settled"])["settled"].sort()
    first, last = (settled[int(len(settled) * share)] for share in (0.1, 0.9))
    return 0.8 * len(settled) / (last - first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=128)
    options = parser.parse_args()
    tune_gc()
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    rates: dict[Driver, list[float]] = {Driver.LOCAL: [], Driver.RAY: []}
    with chaos() as url:
        for turn in range(options.rounds):
            for driver, found in rates.items():
                with tempfile.TemporaryDirectory() as folder:
                    job = planned(options.calls, options.concurrency, turn * options.calls, folder)
                    asyncio.run(ours(url, job, driver))
                    found.append(steady(folder))
    for driver, found in rates.items():
        print(
            f"{driver}: {statistics.median(found):,.0f} calls/s ({', '.join(f'{r:,.0f}' for r in found)})"
        )
    ratio = statistics.median(
        r / one for r, one in zip(rates[Driver.RAY], rates[Driver.LOCAL], strict=True)
    )
    print(f"one Ray worker reaches {ratio:.2f} of the local driver's rate")
    sys.exit(ratio < 0.6)


if __name__ == "__main__":
    main()
