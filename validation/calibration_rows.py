"""What `calibrate` costs on a million rows, and whether it says the same as row by row.

Usage: python -m validation.calibration_rows [--rows 1000000]

The whole command is run in a process of its own, whose processor seconds and memory are counted;
then the same rows are fitted row by row (`tests/support/calibrated_by_rows.py`), without any
counting of rows that are alike, and every number of the two files is held against the other.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit

from novarag import read_answers
from novarag.answers.opening.arrays import known_rows
from novarag.calibration.calibration_file import to_json
from novarag.calibration.fit_calibration import FitStamp
from novarag.flows.calibrate import load_calibration
from tests.support.calibrated_by_rows import fit_by_rows, largest_difference
from tests.support.machine import described

STATES = ["conflicting", "consistent", "insufficient", None]
MOST_SECONDS = 25.0
"""Processor seconds that a million rows may take; fewer rows may take as much."""
CLOSE = 1e-9


def graded_table(rows: int, *, seed: int = 0) -> pl.DataFrame:
    """Draw graded answers, four to a question, whose rightness goes by question, state and value."""
    rng = np.random.default_rng(seed)
    question = rng.integers(0, max(rows // 4, 1), rows)
    able = rng.normal(size=max(rows // 4, 1))[question]
    state = rng.integers(0, len(STATES), rows)
    stated = rng.beta(5, 1.5, rows).round(2)
    chance = expit(0.7 * able + 0.6 * (state - 1.5) + 2 * (stated - 0.7))
    return pl.DataFrame(
        {
            "question": [f"q{i}" for i in question],
            "confidence": stated,
            "correct": rng.random(rows) < chance,
            "evidence": [STATES[s] for s in state],
        }
    )


def run_counted(table: Path, out: Path) -> tuple[float, float]:
    """Run the command; return its processor seconds and the most memory it held, in MB."""
    command = [sys.executable, "-m", "novarag", "calibrate", str(table), "--out", str(out)]
    child = os.spawnvp(os.P_NOWAIT, command[0], command)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"calibrate ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def compare(table: Path, out: Path) -> float:
    """Fit the rows one by one; return the largest difference from the file that was written."""
    made = load_calibration(out)
    assert made.fitted is not None
    stamp = FitStamp(date=made.fitted.date, version=made.fitted.version, seed=made.fitted.seed)
    plain = fit_by_rows(known_rows(read_answers(table)), stamp=stamp)
    return largest_difference(*(json.loads(json.dumps(to_json(c))) for c in (made, plain)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "graded.parquet", Path(folder) / "calibration.json"
        graded_table(rows).write_parquet(table)
        seconds, memory = run_counted(table, out)
        fast = seconds <= MOST_SECONDS
        print(f"{rows:,} rows of {rows // 4:,} questions; {described()}")
        print(f"calibrate: {seconds:.1f} CPU-s (asked at most {MOST_SECONDS:.0f}),"
              f" {memory:.0f} MB at most {'PASS' if fast else 'MISS'}")  # fmt: skip
        begun = time.process_time()
        apart = compare(table, out)
        same = apart <= CLOSE
        print(f"row by row: {time.process_time() - begun:.1f} CPU-s; largest difference of any"
              f" number {apart:.1e} (asked at most {CLOSE:.0e}) {'PASS' if same else 'MISS'}")  # fmt: skip
    return int(not (fast and same))


if __name__ == "__main__":
    sys.exit(main())
