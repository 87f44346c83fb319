"""What the proof found: one table of answers of every system, measured, and written down.

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

from experiments.nova.splits import states
from novarag.datasets import load_groups
from novarag.metrics import measure_table
from tests.support.machine import described

COLUMNS = [
    "question", "group", "kind", "answer", "confidence", "correct", "abstained", "flaw",
    "passages_judged", "passages_right", "group_judged", "group_right",
]  # fmt: skip
SYSTEMS = {
    "base, vanilla": "warm-vanilla", "base, CoT": "warm-cot",
    "base, noise-aware": "warm-noise-aware", "base, NOVA prompt": "warm-nova",
    "label-only": "label-only-label-only", "NOVA (Brier)": "nova-nova", "NOVA (soft)": "soft-nova",
}  # fmt: skip
OURS = ("NOVA (Brier)", "NOVA (soft)")
METHODS = {"ensemble": "Ensemble(3)", "p-true": "P(True)", "self-frequency": "Self-frequency"}
SHOWN = ("accuracy", "brier", "smooth_ece", "ece", "auroc", "discrimination", "mean_confidence")
WANTED = (*SHOWN, "aurc", "passage_judgment", "group_judgment")
REPLICATES = 2000
LEAST = 30  # rows of a part that gets figures
SPREAD = ("least", "quarter", "half", "three quarters", "most")


def main(build, out):
    """Gather, measure and write."""
    out.mkdir(parents=True, exist_ok=True)
    told = {"machine": described()}
    told["reader"] = reader(build)
    told["funnel"] = {name: funnel(build, name) for name in ("brier", "soft")}
    told["examples"] = examples(build)
    told["training"] = {p.parent.name: training(p) for p in sorted(build.glob("**/training.json"))}
    for split in ("dev", "test"):
        answers = gather(build, split)
        if answers is None:
            continue
        path = build / f"answers-{split}.parquet"
        answers.write_parquet(path)
        told[split] = table(answers)
        subprocess.run(
            ["novarag", "measure", path, "--by", "system", "--out", build / f"report-{split}",
             "--title", f"The proof, {split} questions"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        for name in ("report.md", "report.html") if split == "test" else ("report.md",):
            shutil.copy(build / f"report-{split}" / name, out / f"{split}-{name}")
    shutil.copy(build / "facts.json", out / "facts.json")
    shutil.copy(build / "commands.jsonl", out / "commands.jsonl")
    (out / "proof.json").write_text(json.dumps(told) + "\n")
    (out / "tables.md").write_text(page(told))
    print(page(told))


def trials(place, *more):
    """Read the finished trials of a run."""
    files = sorted((place / "trials").glob("*.parquet"))
    found = [pl.read_parquet(f, columns=[*COLUMNS, *more]) for f in files]
    return pl.concat(found) if found else None


def gather(build, split):
    """Put the answers of every system in one table."""
    parts = []
    for k in (3, 5):
        for system, name in SYSTEMS.items():
            place = build / "runs" / f"{split}-{name}-k{k}"
            if (found := trials(place)) is not None:
                parts.append(found.with_columns(system=pl.lit(system), k=pl.lit(k)))
        sampled = build / "runs" / f"{split}-warm-sampled-k{k}" / "estimates.parquet"
        if sampled.exists():
            found = pl.read_parquet(sampled)
            for method, system in METHODS.items():
                rows = found.filter(pl.col("method") == method).select(COLUMNS)
                parts.append(rows.with_columns(system=pl.lit(system), k=pl.lit(k)))
    if not parts:
        return None
    sets = datasets(build)
    whole = pl.concat(parts, how="vertical_relaxed").with_columns(
        dataset=pl.col("question").replace_strict(sets, default=split)
    )
    return whole.sort("system", "k", "question", "group")


def datasets(build):
    """Name the dataset of every test question."""
    found = {}
    for name in ("hotpotqa", "nq", "bamboogle"):
        for line in (build / "groups" / f"test-{name}-k3.jsonl").read_text().splitlines():
            found[json.loads(line)["id"]] = name
    return found


def table(answers):
    """Measure every system in all, by k, by dataset and by kind, and pairs of systems."""
    whole = measure_table(answers, by="system", replicates=REPLICATES)
    told = {"all": [panel(p) for p in whole.groups] + [kind_known(answers)]}
    found = {(d.metric, d.one, d.other): d.figure for d in whole.differences}
    names = [p.name for p in whole.groups]
    told["against"] = [
        against(answers, found, one, other)
        for one in names if one in OURS for other in names if other != one
    ]  # fmt: skip
    for column in ("k", "dataset", "kind"):
        told[column] = []
        for value in answers[column].unique().sort().to_list():
            few = answers.filter(pl.col(column) == value)
            part = measure_table(few, by="system", replicates=REPLICATES, least=LEAST)
            told[column] += [{column: value, **panel(p)} for p in part.groups]
    return told


def kind_known(answers):
    """Measure what the kind of group alone could do: its share of right answers as confidence."""
    base = answers.filter(pl.col("system") == "base, vanilla").with_columns(
        confidence=pl.col("correct").cast(pl.Float64).mean().over("kind")
    )
    found = panel(measure_table(base, replicates=REPLICATES).overall)
    return found | {"system": "base, vanilla, were the kind known"}


def against(answers, found, one, other):
    """Compare two systems on the questions that both were asked."""
    row = {"system": one, "against": other, "accuracy": more_right(answers, one, other)}
    for metric in ("brier", "auroc", "aurc"):
        straight = found.get((metric, one, other))
        turned = found.get((metric, other, one))
        if straight:
            row[metric] = figure(straight.value, straight.low, straight.high)
        elif turned:
            row[metric] = figure(-turned.value, -turned.high, -turned.low)
    return row


def more_right(answers, one, other):
    """By how much is one system right more often, by question? An unread reply is not right."""
    right = answers.with_columns(pl.col("correct").fill_null(value=False).cast(pl.Float64))
    sides = [
        right.filter(pl.col("system") == name).group_by("question").agg(pl.col("correct").mean())
        for name in (one, other)
    ]
    both = sides[0].join(sides[1], on="question", suffix="_other").sort("question")
    return mean(both["correct"] - both["correct_other"])


def mean(column):
    """Take the mean of one value for each question, with its interval."""
    values = column.cast(pl.Float64).to_numpy()
    drawn = bootstrap((values,), np.mean, n_resamples=REPLICATES, method="percentile", rng=0)
    span = drawn.confidence_interval
    return figure(float(values.mean()), float(span.low), float(span.high))


def figure(value, low, high):
    """Put a value and its interval together."""
    return {"value": value, "low": low, "high": high}


def panel(found):
    """Take the figures of one system, its share of read replies, and the trivial baselines."""
    rows = {"system": found.name, "rows": found.rows, "questions": found.questions}
    rows["read"] = figure(found.read / found.rows, None, None)
    for metric in WANTED:
        if known := found.figures.get(metric):
            rows[metric] = figure(known.value, known.low, known.high)
    for name, figures in found.baselines.items():
        if "brier" in figures:
            known = figures["brier"]
            rows[f"brier_{name}"] = figure(known.value, known.low, known.high)
    return rows


def reader(build):
    """How often is the answer right with gold among three passages? What is not read is wrong.

    A model that does not keep the form may still hold the answer somewhere in its reply.
    """
    told = []
    for place in sorted((build / "runs").glob("reader-*")):
        name, _, who = place.name.rpartition("-")
        groups = load_groups(build / "groups" / f"{name}.jsonl")
        known = {str(group.id): group.question for group in groups}
        found = trials(place, "reply")
        if found is not None:
            holds = [states(row["reply"], known[row["group"]]) for row in found.to_dicts()]
            told.append({
                "set": name, "model": who, "questions": found.height,
                "read": figure(found["flaw"].is_null().mean(), None, None),
                "right": mean(found["correct"].fill_null(value=False)),
                "in the reply": mean(pl.Series(holds)),
            })  # fmt: skip
    return told


def funnel(build, name):
    """What was kept after each stage."""
    path = build / f"filtered-{name}" / "tally.json"
    return json.loads(path.read_text())["counts"] if path.exists() else None


def examples(build):
    """What the training examples state, by kind of group."""
    told = []
    for path in sorted(build.glob("export-*/train.jsonl")):
        found = pl.read_ndjson(path).group_by("kind").agg(
            pl.len().alias("rows"), pl.col("correct").mean().alias("right"),
            *(pl.col("confidence").quantile(q / 4).alias(name) for q, name in enumerate(SPREAD)),
        )  # fmt: skip
        told += [{"examples": path.parent.name, **row} for row in found.sort("kind").to_dicts()]
    return told


def training(path):
    """What a training was, without its log."""
    told = json.loads(path.read_text())
    few = max(1, len(told["losses"]) // 10)
    losses = [row["loss"] for row in told["losses"]]
    return {
        "variant": told["variant"], "examples": told["examples"], "settings": told["settings"],
        "files": told["data"]["files"], "steps": len(losses),
        "loss_first": sum(losses[:few]) / few, "loss_last": sum(losses[-few:]) / few,
        "base": told["base"]["fingerprint"],
    }  # fmt: skip


def page(told):
    """Write the tables as Markdown."""
    lines = [f"{told['machine']}.", ""]
    lines += ["Right answers with gold among three passages:", "", *plainly(told["reader"])]
    lines += ["", "Confidences of the training examples:", "", *plainly(told["examples"])]
    for split in ("dev", "test"):
        for part in ("all", "k", "dataset", "kind"):
            if split in told:
                lines += ["", f"## {split}, {part}", "", *rows(told[split][part], part)]
        if split in told:
            lines += ["", f"## {split}, one against the other (differences)", ""]
            lines += rows(told[split]["against"], "against")
    return "\n".join(lines) + "\n"


def plainly(found):
    """Write records as they are."""
    head = list(found[0]) if found else []
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for row in found:
        cells = (
            shown(value) if isinstance(value, dict)
            else f"{value:.2f}" if isinstance(value, float) else str(value)
            for value in row.values()
        )  # fmt: skip
        yield "| " + " | ".join(cells) + " |"


def rows(panels, part):
    """Write one table of figures with intervals."""
    wanted = ("read", *WANTED, "brier_constant")
    there = [m for m in wanted if any(m in row for row in panels)]
    head = {"all": ["system", "rows"], "against": ["system", "against"]}
    head = head.get(part, [part, "system", "rows"])
    yield "| " + " | ".join([*head, *there]) + " |"
    yield "|---" * (len(head) + len(there)) + "|"
    for row in panels:
        cells = [str(row[name]) for name in head]
        cells += [shown(row.get(metric)) for metric in there]
        yield "| " + " | ".join(cells) + " |"


def shown(found):
    """Write a figure with its interval."""
    if found is None or found["value"] is None or found["value"] != found["value"]:
        return "–"
    if found["low"] is None:
        return f"{found['value']:.3f}"
    return f"{found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
