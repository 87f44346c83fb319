"""What the proof found: every system measured on every part, and written down.

python -m experiments.nova.report BUILD RESULTS
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import bootstrap

from experiments.nova.choosing import (
    CHOICES,
    COMMANDS,
    check_times,
    choice_of,
    first_test,
    measured,
)
from experiments.nova.costs import costs, worth
from experiments.nova.page import page
from experiments.nova.plan import GRADED, PLANS
from experiments.nova.tables import (
    LIKELIHOOD,
    PARTS,
    PROMPTS,
    answers,
    auroc_by_fold,
    by_likelihood,
    floors,
    form_of,
    is_floor,
    label_of,
    trained,
    trials,
    with_size,
)
from experiments.nova.windows import stated
from novarag.answers.opening.beside import overlap_table
from novarag.datasets import load_groups
from novarag.metrics import measure_table
from tests.support.machine import described

SHOWN = ("accuracy", "brier", "smooth_ece", "auroc", "discrimination", "mean_confidence")
AGAIN = ("recalibrated", "its_error", "most_stated", "share_of_it")
WANTED = (*SHOWN, "passage_judgment", "group_judgment")
REPLICATES = 2000
LEAST_ROWS = 30  # rows of a part that gets figures
SPREAD = ("least", "quarter", "half", "three quarters", "most")
FRESH = "clean + retrieved"
SHORT = ("short-teacher", "short-share", "short-bits", "short-masked", "short-unmasked",
         "levels-10", "levels-101")  # fmt: skip


def main(build, out):
    """Gather, measure and write."""
    check_times(build)
    out.mkdir(parents=True, exist_ok=True)
    facts = json.loads((build / "facts.json").read_text())
    results = {
        "machine": described(),
        "budget": facts["budget"],
        "choices": [json.loads(row) for row in (build / CHOICES).read_text().splitlines()],
        "first test request": first_test(build),
        "reader": reader(build),
        "funnel": {
            name: tally(build, name) for name in PLANS[facts.get("plan", facts["form"])].aligned
        },
        "examples": examples(build),
        "training": [training(path) for path in sorted(build.glob("**/training.json"))],
        "dev": dev(build),
        "draws": draws(build),
        "test": {},
    }
    final = choice_of(build, "final")
    if final is not None and (build / "calibrated").exists():
        results["final"] = label_of(final)
        results["test"] = tested(build, out, results["final"])
        results["costs"] = costs(build, results["final"])
        results["worth"] = worth(results["test"][FRESH]["against base"], results["costs"])
    for name in ("facts.json", COMMANDS, CHOICES):
        shutil.copy(build / name, out / name)
    if (build / "cards" / "cards.md").exists():
        shutil.copy(build / "cards" / "cards.md", out / "cards.md")
    (out / "proof.json").write_text(json.dumps(results) + "\n")
    (out / "tables.md").write_text(page(results, WANTED, AGAIN))
    print(page(results, WANTED, AGAIN))


def tested(build, out, final):
    """Measure every part of the test questions, and the fresh ones together."""
    found = {part: answers(build, part) for part in PARTS}
    found = {FRESH: pl.concat([found["clean"], found["retrieved"]]), **found}
    path = build / "answers-test.parquet"
    fresh = found[FRESH]
    fresh.drop("word_overlap").write_parquet(path)
    subprocess.run(
        [sys.executable, "-m", "novarag", "measure", path, "--by", "system", "--out",
         build / "report-test", "--title", "The proof, fresh test questions"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    for name in ("report.md", "report.html"):
        shutil.copy(build / "report-test" / name, out / f"test-{name}")
    return {part: table(rows, final) for part, rows in found.items()}


def table(rows, final):
    """Measure every system in all, by k and by kind, and what was chosen against all others."""
    overlaps = rows.select("group", "word_overlap").unique("group", keep="first")
    whole = rows.drop("word_overlap")
    for system in (final, "base, vanilla"):
        own = whole.filter(pl.col("system") == system)
        for name, made in floors(own, overlaps).items():
            named = made.with_columns(system=pl.lit(f"{name} for {system}"))
            whole = pl.concat([whole, named.select(whole.columns)])
    full = measure_table(whole, by="system", replicates=REPLICATES)
    known = {(d.metric, d.one, d.other): d.figure for d in full.differences}
    names = [p.name for p in full.groups]
    results = {"all": [ranked(panel(p), whole) for p in full.groups]}
    for name, one in (("against", final), ("against base", "base, vanilla")):
        results[name] = [against(whole, known, one, o) for o in names if o != one]
    if (one_road := f"base vanilla + calibration ({max(GRADED)}, {LIKELIHOOD})") in names:
        results["against calibration"] = [
            against(whole, known, one_road, o) for o in names if o != one_road
        ]
    for column in ("k", "kind"):
        results[column] = []
        for value in whole[column].drop_nulls().unique().sort().to_list():
            few = whole.filter(pl.col(column) == value)
            part = measure_table(few, by="system", replicates=REPLICATES, min_rows=LEAST_ROWS)
            results[column] += [{column: value, **ranked(panel(p), few)} for p in part.groups]
    return results


def against(rows, known, one, other):
    """Compare two systems on the questions that both were asked."""
    row = {"system": one, "against": other, "accuracy": more_right(rows, one, other)}
    # a floor's AUROC is a mean over folds, which has no paired difference
    for metric in ("brier",) if is_floor(one) or is_floor(other) else ("brier", "auroc"):
        straight, turned = known.get((metric, one, other)), known.get((metric, other, one))
        if straight:
            row[metric] = figure(straight.value, straight.low, straight.high)
        elif turned:
            row[metric] = figure(-turned.value, -turned.high, -turned.low)
    return row


def more_right(rows, one, other):
    """By how much is one system right more often, by question? An unread reply is not right."""
    right = rows.with_columns(pl.col("correct").fill_null(value=False).cast(pl.Float64))
    sides = [
        right.filter(pl.col("system") == name).group_by("question").agg(pl.col("correct").mean())
        for name in (one, other)
    ]
    both = sides[0].join(sides[1], on="question", suffix="_other").sort("question")
    return mean(both["correct"] - both["correct_other"])


def mean(column):
    """Take the mean of one value for each question, with its interval."""
    values = column.cast(pl.Float64).to_numpy()
    if len(values) < 2:
        return None
    drawn = bootstrap((values,), np.mean, n_resamples=REPLICATES, method="percentile", rng=0)
    span = drawn.confidence_interval
    return figure(float(values.mean()), float(span.low), float(span.high))


def figure(value, low, high):
    """Put a value and its interval together."""
    return {"value": value, "low": low, "high": high}


def panel(found):
    """Take the figures of one system, and its share of read replies."""
    rows = {"system": found.name, "rows": found.rows, "questions": found.questions}
    rows["read"] = figure(found.read / found.rows, None, None)
    for metric in WANTED:
        if known := found.figures.get(metric):
            rows[metric] = figure(known.value, known.low, known.high)
    return rows


def ranked(row, rows):
    """Give a floor the AUROC that its folds have; `rows` are the answers of all systems."""
    if not is_floor(row["system"]) or "auroc" not in row:
        return row
    value = auroc_by_fold(rows.filter(pl.col("system") == row["system"]))
    return row | {"auroc": figure(value, None, None)}


def dev(build):
    """Measure on dev questions all that was chosen between, and each lever by itself."""
    names = PROMPTS | trained(build)
    names |= {f"{who} (ablation)": f"{who}-{form_of(build)}" for who in SHORT}
    places = {n: build / "runs" / f"dev-{run}-dev" for n, run in names.items()}
    there = {n: trials(place) for n, place in places.items() if place.exists()}
    for strategy in ("vanilla", "nova"):
        if (place := build / "runs" / f"dev-warm-{strategy}-dev").exists():
            there[f"{LIKELIHOOD}, base {strategy}"] = by_likelihood(place)
    if not there:
        return []
    parts = [t.with_columns(system=pl.lit(name)) for name, t in there.items()]
    whole = with_size(pl.concat(parts, how="vertical_relaxed"))
    found = measure_table(whole, by="system", replicates=REPLICATES)
    results = [panel(p) | again(there[p.name]) for p in found.groups]
    name = "base, NOVA prompt" if "base, NOVA prompt" in there else "base, vanilla"
    base = there[name]
    overlaps = overlap_table(load_groups(build / "groups" / "dev.jsonl"))
    for floor, made in floors(base, overlaps).items():
        one = measure_table(made, replicates=REPLICATES).overall
        named = made.with_columns(system=pl.lit(f"{floor} for {name}"))
        results.append(ranked(panel(one) | {"system": f"{floor} for {name}"}, named))
    return results


def again(answers):
    """The Brier score after a recalibration with its standard error, and the number stated most."""
    found = measured(answers)
    stated = answers["confidence"].drop_nulls().value_counts(sort=True, normalize=True)
    most = stated.row(0) if stated.height else (None, None)
    values = zip(AGAIN, (found.brier, found.error, *most), strict=True)
    return {name: figure(value, None, None) for name, value in values}


def draws(build):
    """Check short draws against the tested form: does their share say whether `nova` is right?"""
    place = build / "runs" / "dev-draws"
    nova = build / "runs" / f"dev-warm-{form_of(build)}-dev"
    if not (place.exists() and nova.exists()):
        return None
    right = pl.col("correct").fill_null(value=False).cast(pl.Float64).mean()
    share = trials(place).group_by("group").agg(confidence=right)
    made = trials(nova).drop("confidence").join(share, on="group", how="left")
    return panel(measure_table(made, replicates=REPLICATES).overall)


def reader(build):
    """How often is the answer right with gold among three passages? What is not read is wrong.

    A model that does not keep the form may still hold the answer somewhere in its reply.
    """
    results = []
    known = {str(g.id): g.question for g in load_groups(build / "groups" / "reader-dev.jsonl")}
    for place in sorted((build / "runs").glob("reader-*")):
        found = trials(place, "reply")
        holds = [stated(row["reply"], known[row["group"]]) is not None for row in found.to_dicts()]
        results.append({
            "model and prompt": place.name.removeprefix("reader-"), "questions": found.height,
            "read": figure(found["flaw"].is_null().mean(), None, None),
            "right": mean(found["correct"].fill_null(value=False)),
            "in the reply": mean(pl.Series(holds)),
        })  # fmt: skip
    return results


def tally(build, name):
    """What was kept after each stage, and how the teacher does."""
    path = build / f"filtered-{name}" / "tally.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    return {"counts": found["counts"], "teachers": found.get("teachers")}


def examples(build):
    """What the training examples state, by kind of group."""
    results = []
    for path in sorted(build.glob("export-*/train.jsonl")):
        rows = pl.read_ndjson(path, infer_schema_length=None)
        spread = (pl.col("confidence").quantile(q / 4).alias(n) for q, n in enumerate(SPREAD))
        right = pl.col("correct").mean().alias("right")
        found = rows.group_by("kind").agg(pl.len().alias("rows"), right, *spread)
        results += [{"examples": path.parent.name, **row} for row in found.sort("kind").to_dicts()]
    return results


def training(path):
    """What a training was, without its log."""
    facts = json.loads(path.read_text())
    losses = [row["loss"] for row in facts["losses"]]
    few = max(1, len(losses) // 10)
    return {
        "model": path.parent.name, "variant": facts["variant"], "examples": facts["examples"],
        "settings": facts["settings"], "files": facts["data"]["files"], "steps": len(losses),
        "loss_first": sum(losses[:few]) / few, "loss_last": sum(losses[-few:]) / few,
        "base": facts["base"]["fingerprint"],
    }  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
