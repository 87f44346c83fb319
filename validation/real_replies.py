"""Real replies in three formats, read by the reader of a commit and by today's.

Usage: NOVARAG_DATA=… python -m validation.real_replies [--base REV] [--show N]

Prints, by format, what of the former is still read, with the same answer and value, and each class
of new refusals; and what is read now that was not.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import polars as pl

from tests.support.machine import described

BASE = "5f083a4"
LEAST = 0.99
SOURCES = {
    "verb_guess_probability": "guess-probability", "verb_parser_sample": "guess-probability",
    "rlcr_outputs": "answer-tags", "frontier_probability_yes": "probability-yes",
}  # fmt: skip
READ = """
import json, sys
from novarag.strategies import FORMATS, read
for line in sys.stdin:
    format, text = json.loads(line)
    reading = read(text, FORMATS[format])
    print(json.dumps([reading.answer, reading.confidence, str(reading.flaw or "")]))
"""


def readings(
    cases: list[tuple[str, str]], source: Path
) -> list[tuple[str | None, float | None, str]]:
    """Return what the package in a folder reads: answer, confidence, flaw."""
    done = subprocess.run(
        [sys.executable, "-c", READ], input="".join(json.dumps(c) + "\n" for c in cases),
        env={**os.environ, "PYTHONPATH": str(source)}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def main() -> int:
    """Read every reply twice, and print how the readings differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default=BASE)
    parser.add_argument("--show", type=int, default=0)
    options = parser.parse_args()
    folder = Path(os.environ["NOVARAG_DATA"]) / "responses"
    cases, names = [], []
    for name, labels in SOURCES.items():
        texts = pl.read_parquet(folder / f"{name}.parquet")["response"].fill_null("").to_list()
        cases += [(labels, text) for text in texts]
        names += [name] * len(texts)
    with tempfile.TemporaryDirectory() as place:
        packed = subprocess.run(
            ["git", "archive", options.base, "src"], capture_output=True, check=True
        )
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as tar:
            tar.extractall(place, filter="data")
        before = readings(cases, Path(place) / "src")
    after = readings(cases, Path("src").resolve())
    print(described())
    poor = 0
    for name in SOURCES:
        rows = [i for i, n in enumerate(names) if n == name]
        old = [i for i in rows if not before[i][2]]
        kept = sum(before[i] == after[i] for i in old)
        new = sum(not after[i][2] and bool(before[i][2]) for i in rows)
        refused = Counter(after[i][2] or "another value" for i in old if before[i] != after[i])
        print(f"{name}: {len(rows):,} replies, {len(old):,} read by {options.base},", end=" ")
        print(f"{kept:,} of them as before ({100 * kept / len(old):.2f} %), {new:,} read now alone")
        for why, count in refused.most_common():
            print(f"{count:9,}  {why}")
        poor += kept < LEAST * len(old)
        for i in [i for i in old if before[i] != after[i]][: options.show]:
            print("---", before[i], after[i], cases[i][1], sep="\n")
    return int(poor > 0)


if __name__ == "__main__":
    sys.exit(main())
