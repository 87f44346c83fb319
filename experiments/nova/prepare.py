"""Make the questions and the warm-up rows of the NOVA proof from the shared data, without a model.

    python -m experiments.nova.prepare OUT [--data DATA] [--tokenizer FOLDER]

The same data and seed give the same bytes. `facts.json` has the counts and checksums.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from statistics import median

import orjson
import polars as pl

from experiments.nova.drills import drill_rows, toss_rows
from experiments.nova.reading import SETS, answered
from experiments.nova.splits import (
    check_disjoint,
    counts,
    gold_of,
    gold_runs,
    one_each,
    place_of,
    plain,
    reading_groups,
    runs_of,
    split,
)
from experiments.nova.warmup import fault_of, fits, make_rows
from novarag.datasets import load_groups
from novarag.errors import DataError
from novarag.flows.group import write_groups
from novarag.noise.group_build import GroupBuild
from novarag.seeding import rng_for
from novarag.sft.formats import canonical_row, json_line
from novarag.sft.lengths import load_ruler
from novarag.strategies import NOVA

SEED = 0
LEARNT = {"warm": 100, "sample": 70, "dev": None}
TESTS = {"hotpotqa": 120, "nq": 120, "bamboogle": 80}
READER_DEV, READER_TEST = 100, 75  # questions; of each of two sets
DRILLS, TOSSED = 1000, 1800  # rows
MEND = "look at the data: it is not what this was written for."
LONGEST = 1300  # tokens of a nova prompt


def main() -> None:
    """Read the arguments and make all files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, help="folder for the files")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("NOVARAG_DATA", "../shared/data"))
    )
    parser.add_argument("--tokenizer", help="folder or name: count tokens, drop long prompts")
    given = parser.parse_args()
    facts = prepare(given.out, given.data, given.tokenizer)
    print(orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode())


def prepare(out: Path, data: Path, tokenizer: str | None = None) -> dict[str, object]:
    """Make the groups and the warm-up rows, prove that they share no question, write them."""
    clean = out / "nova-clean"
    command = ["nova-clean", "--out", str(clean), "--data", str(data), "--no-audit"]
    subprocess.run([sys.executable, "-m", "novarag", *command], check=True, stdout=sys.stderr)
    benchmark = {path.stem: load_groups(path) for path in sorted(clean.glob("*.jsonl"))}
    learnt = split(benchmark["hotpotqa-train-k3"], LEARNT, SEED)
    learnt["dev"] += benchmark["hotpotqa-dev-k3"]
    tests = {
        f"test-{name}-k{k}": one_each(benchmark[f"{name}-test-k{k}"], count, SEED)
        for name, count in TESTS.items()
        for k in (3, 5)
    }
    tests["reader-test-k3"] = [
        group for name in ("hotpotqa", "nq") for group in _reader_test(benchmark[f"{name}-test-k3"])
    ]
    pool, dropped = _pool(data, benchmark)
    files = {f"{name}-k3": groups for name, groups in learnt.items()}
    files["reader-dev-k3"] = reading_groups(pool[:READER_DEV], SEED)
    drilled = drill_rows(pool[READER_DEV:], _confidences(data), SEED, count=DRILLS)
    tossed = toss_rows(pool[READER_DEV:], _confidences(data), SEED, count=TOSSED)
    for made in (drilled, tossed):  # both may drill the same question
        taught = {**files, "drills": [group for group, _, _ in made]}
        check_disjoint(_questions(taught), _questions(tests))
    for name, groups in {**files, **tests}.items():
        write_groups(GroupBuild(groups=groups), out / "groups" / f"{name}.jsonl")
    told, rows = _format_rows(learnt["warm"], data, tokenizer)
    drills, more = (
        [row for group, name, row in made if name is None or not fault_of(group, name, row)]
        for made in (drilled, tossed)
    )
    rows += drills
    rng_for(SEED, "warm-up").shuffle(rows)
    _write_rows(rows, out / "warmup" / "train.jsonl")
    _write_rows(more, out / "drills" / "train.jsonl")
    facts = {
        "made_by": "python -m experiments.nova.prepare",
        "seed": SEED,
        "groups": {name: counts(groups) for name, groups in {**files, **tests}.items()},
        "shares_a_run_with_test_gold": _sharing(learnt, tests),
        "reader_pool": {"questions": len(pool), "dropped": dropped},
        "warmup": told | {"rows": len(rows), "drills": _told(drills, tokenizer)},
        "drills": _told(more, tokenizer),
        "sha256": {
            str(path.relative_to(out)): sha256(path.read_bytes()).hexdigest()
            for folder in ("groups", "nova-clean", "warmup", "drills")
            for path in sorted((out / folder).glob("*.jsonl"))
        },
    }
    (out / "facts.json").write_bytes(orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n")
    return facts


def _questions(files):
    return {name: [g.question for g in groups] for name, groups in files.items()}


def _reader_test(groups):
    golds = sorted(gold_of(groups), key=lambda pair: place_of(SEED, pair[0].id))
    return reading_groups(golds, SEED, asked=READER_TEST)


def _pool(data, benchmark):
    """Take the questions of the retrieval data that no split of the benchmark knows."""
    texts = pl.read_parquet(data / "retrieval" / "corpus.parquet", columns=["id", "text"])
    rows = pl.read_parquet(data / "retrieval" / "questions.parquet")
    rows = rows.filter(pl.col("dataset").is_in(SETS)).sort("qid")
    pairs = answered(rows.iter_rows(named=True), dict(texts.iter_rows()))
    known = {plain(g.question.text) for groups in benchmark.values() for g in groups}
    # All gold passages of the benchmark's test files, not only of the questions that were drawn.
    gold = gold_runs(g for name, groups in benchmark.items() if "-test-" in name for g in groups)
    kept, dropped = [], Counter()
    for question, passage in sorted(pairs, key=lambda pair: place_of(SEED, pair[0].id)):
        if plain(question.text) in known:
            dropped["the question is known"] += 1
        elif not gold.isdisjoint(runs_of(passage.text)):
            dropped["the passage shares a run of words with a test question's gold"] += 1
        else:
            known.add(plain(question.text))
            kept.append((question, passage))
    return kept, dict(dropped)


def _format_rows(groups, data, tokenizer):
    """Make the rows of the strategies' forms, without those whose nova prompt is too long."""
    fitting = [g for g in groups if fits(g)]
    short = fitting
    if tokenizer:
        measured = load_ruler(tokenizer).tokenizer
        short = [g for g in short if len(measured(NOVA.render(g).text)["input_ids"]) <= LONGEST]
    made = make_rows(short, _confidences(data), SEED)
    rows = [row for _, _, row in made]
    told = {
        "strategies": dict(sorted(Counter(name for _, name, _ in made).items())),
        "strategies_by_kind": dict(
            sorted(Counter(f"{name} {row.kind}" for _, name, row in made).items())
        ),
        "groups_whose_answer_is_too_long": len(groups) - len(fitting),
        "groups_whose_prompt_is_too_long": len(fitting) - len(short),
        "confidence": "drawn by the row's name alone, so it says nothing about the kind or about"
        " being correct: in one half of the draws what real models stated on other questions, in"
        " the other half even from 0 to 100 %, so that samples hold low values too",
        "format": _told(rows, tokenizer),
    }
    return told, rows


def _confidences(data):
    """List what real models stated, and as many spread evenly over 0, 5, ... 100 %."""
    path = data / "responses" / "verb_guess_probability.parquet"
    stated = pl.read_parquet(path, columns=["author_confidence"])["author_confidence"]
    real = stated.filter(stated.is_between(0, 1)).to_list()
    return real + [(i % 21) / 20 for i in range(len(real))]


def _told(rows, tokenizer):
    told = {
        "rows": len(rows),
        "questions": len({r.question for r in rows}),
        "kinds": dict(sorted(Counter(r.kind for r in rows).items())),
    }
    if tokenizer:
        ruler = load_ruler(tokenizer)
        whole = [ruler.measure(row)[0] for row in rows]
        if faults := [fault for row in rows if (fault := ruler.measure(row)[1])]:
            raise DataError(
                f"{len(faults)} rows are not fit for the tokenizer: {faults[0]}.", hint=MEND
            )
        said = [len(ruler.tokenizer(r.completion)["input_ids"]) for r in rows]
        told["tokens"] = _spread(whole)
        told["completion_tokens"] = _spread(said)
    return told


def _spread(numbers):
    return {"total": sum(numbers), "median": median(numbers), "most": max(numbers)}


def _said(row):
    return row["completion"][0]["content"]


def _write_rows(rows, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    told = map(canonical_row, rows)
    lines = (json_line(r if "Confidence:" in _said(r) else r | {"confidence": None}) for r in told)
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def _sharing(learnt, tests):
    """Count the questions of HotpotQA whose gold has words of a test question's gold."""
    gold = gold_runs(g for groups in tests.values() for g in groups)
    return {
        name: len({g.question.id for g in groups if not gold.isdisjoint(gold_runs([g]))})
        for name, groups in learnt.items()
    }


if __name__ == "__main__":
    main()
