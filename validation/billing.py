"""100,000 calls with 20 % faults: is the ledger the server's own bill, attempt by attempt?

The server writes down what it did to every attempt; our ledger what every attempt came to. Each
attempt must be in both, and told the same; every trial must be finished or dead-lettered.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter

import polars as pl

from benchmarks.asking_speed import ours as run_job
from benchmarks.asking_speed import planned
from novarag.runs import tune_gc
from novarag.web.sending import Patience
from tests.support.chaos.serving import bill, chaos

FAULTS = {
    "429": 0.05,
    "500": 0.05,
    "hang": 0.002,
    "reset": 0.03,
    "truncate": 0.03,
    "malform": 0.038,
    "drip": 0.01,
}
EXPECTED = {
    "served": "answered", "drip": "answered", "429": "rate limited", "500": "server error",
    "hang": "timed out", "reset": "connection lost", "truncate": "connection lost", "malform": "malformed reply",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--attempts", type=int, default=3)
    options = parser.parse_args()
    tune_gc()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, chaos(faults=FAULTS, hang=60.0) as url:
        job = planned(options.calls, 128, 0, folder)
        patience = Patience(concurrency=128, timeout=3.0, attempts=options.attempts, backoff=0.05)
        asyncio.run(run_job(url, job, patience=patience))
        served = bill(url)
        ledger = pl.read_parquet(f"{folder}/attempts/*.parquet")
        trials = pl.read_parquet(f"{folder}/trials/*.parquet", columns=["question"])
        dead = pl.read_parquet(f"{folder}/dead/*.parquet")
    ours = dict(zip(ledger["attempt"], ledger["outcome"], strict=True))
    theirs = served["attempts"]
    matrix = Counter((how, ours.get(name, "absent")) for name, how in theirs.items())
    wrong = sum(n for (how, recorded), n in matrix.items() if EXPECTED.get(how) != recorded)
    answered = ledger.filter(outcome="answered")
    delivered = sum(how in {"served", "drip"} for how in theirs.values())
    print(
        f"{options.calls:,} requests, {len(ours):,} attempts in the ledger, {len(theirs):,} on the server's bill, {time.monotonic() - began:.0f} s"
    )
    for (how, recorded), n in sorted(matrix.items()):
        print(f"  {n:8,} {how:10} -> {recorded}")
    print(
        f"only in the ledger {len(ours.keys() - theirs.keys())}, only on the bill {len(theirs.keys() - ours.keys())}, told otherwise {wrong}"
    )
    print(
        f"finished {len(trials):,}, dead-lettered {len(dead):,} with {dead['detail'].null_count()} reasons missing"
    )
    print(
        f"faults {1 - delivered / len(theirs):.1%} of attempts; tokens in the ledger {answered['completion_tokens'].sum():,}"
    )
    for outcome, n in Counter(dead["outcome"]).most_common():
        print(f"  {n:8,} dead: {outcome}")
    same = ours.keys() == theirs.keys() and not wrong and len(trials) + len(dead) == options.calls
    sys.exit(0 if same and delivered == len(answered) else 1)


if __name__ == "__main__":
    main()
