"""The whole pipeline with a real model: questions -> noise -> groups -> samples -> filter -> export.

    python -m experiments.real_build FOLDER [--address URL=NAME] [--questions N]

Takes HotpotQA training questions of the benchmark data (NOVARAG_DATA) with all their released
passages, has the model write noise for some of them, asks one group of each question sixteen times,
and prints the tally. Run it again to go on.
"""

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl

from novarag.datasets.clean import clean_pools
from novarag.datasets.groups import group_line

TOML = """\
out = "{out}"
seed = 0

[model]
endpoints = ["{address}"]
concurrency = 4
timeout = 3600

[questions]
file = "{file}"
limit = {questions}

[noise]
questions = {noised}
candidates = 2
keep = 2
max_tokens = 320

[groups]
one_each = true
audit = false

[ask]
samples = {samples}
max_tokens = 320
structured = {structured}
step_length = 60

[export]
tokenizer = {tokenizer}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--address", default="http://127.0.0.1:8411/v1=base")
    parser.add_argument("--questions", type=int, default=180, help="of which most can be grouped")
    parser.add_argument("--noised", type=int, default=30)
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--free", action="store_true", help="do not hold replies to the form")
    parser.add_argument("--tokenizer")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "questions.jsonl"
    file.write_bytes(b"".join(map(group_line, clean_pools("hotpotqa")["train"])))
    text = TOML.format(
        out=given.folder / ("free" if given.free else "out"),
        address=given.address,
        file=file,
        questions=given.questions,
        noised=given.noised,
        samples=given.samples,
        structured=str(not given.free).lower(),
        tokenizer=repr(given.tokenizer),
    )
    lines = [line for line in text.splitlines() if not line.endswith("= None")]
    pipeline = given.folder / "pipeline.toml"
    pipeline.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code = subprocess.run(
        [sys.executable, "-m", "novarag", "train", "build", str(pipeline)], check=False
    )
    noise = pl.read_parquet(given.folder / "out" / "noise" / "passages" / "*.parquet")
    fates = Counter(noise["reason"].fill_null("kept").to_list())
    print(f"\nnoise: {len(noise)} passages; {dict(fates.most_common())}")
    sys.exit(code.returncode)


if __name__ == "__main__":
    main()
