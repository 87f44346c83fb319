"""How fast, how big: metrics and intervals of a million rows, of 64,000 rows, peak memory.

Usage: NOVARAG_DATA=… python -m benchmarks.speed
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from novarag.metrics import METRICS, measure_table, tally

RESPONSES = Path(os.environ["NOVARAG_DATA"]) / "responses"


def answers():
    """The 64,000 answers of the twelve models."""
    stated = pl.col("author_confidence")
    return pl.read_parquet(RESPONSES / "verb_guess_probability.parquet").select(
        "question",
        "model",
        confidence=pl.when(stated.is_between(0, 1)).then(stated),
        correct=pl.col("judge_score").cast(pl.Boolean),
    )


def peak(replicates):
    """Peak memory in MB of a process that measures with so many replicates."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed", str(replicates)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


if len(sys.argv) > 1:
    measure_table(answers(), replicates=int(sys.argv[1]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    sys.exit()

# First: a process counts what its parent held when it was started.
print(f"peak memory: {peak(2000):.0f} MB with 2,000 replicates, {peak(8000):.0f} MB with 8,000")
rng = np.random.default_rng(0)
for name, c in (
    ("101 levels", rng.integers(0, 101, 10**6) / 100),
    ("1,000,000 levels", rng.random(10**6)),
):
    y = rng.random(c.size) < c
    start = time.process_time()
    t = tally(c, y)
    for metric in METRICS.values():
        metric.of(t)
    print(
        f"all {len(METRICS)} metrics, 1,000,000 rows, {name}: {time.process_time() - start:.2f} CPU-s"
    )
many = pl.DataFrame({
    "question": rng.integers(0, 250_000, 10**6).astype(str),
    "confidence": rng.integers(0, 101, 10**6) / 100,
}).with_columns(correct=pl.Series(rng.random(10**6)) < pl.col("confidence"))  # fmt: skip
start = time.process_time()
measure_table(many)
spent = time.process_time() - start
print(f"measure, 1,000,000 rows of 250,000 questions, 2,000 replicates: {spent:.1f} CPU-s")
table = answers()
for by in ((), "model"):
    start = time.process_time()
    measure_table(table, by=by)
    spent = time.process_time() - start
    print(
        f"measure, {table.height:,} rows, 2,000 replicates, {'by model' if by else 'whole'}: {spent:.1f} CPU-s"
    )
