"""Print the 60 replies behind docs/evidence/reader-eye-sample.csv, with what the reader made of each.

Usage: NOVARAG_DATA=… python -m validation.eye_sample
"""

import os
from pathlib import Path

import polars as pl

from novarag.strategies import FORMATS, read

rows = (
    pl.read_parquet(Path(os.environ["NOVARAG_DATA"]) / "responses" / "verb_parser_sample.parquet")
    .filter(pl.col("author_confidence") < 0)
    .sample(60, seed=60, shuffle=True)
)
for number, row in enumerate(rows.iter_rows(named=True), start=1):
    reading = read(row["response"], FORMATS["guess-probability"])
    print(f"{number:2} {row['id']}")
    print(f"   reply   {row['response'][:300]!r}")
    print(f"   read    {reading.answer!r:.120} {reading.confidence} {reading.flaw or ''}")
