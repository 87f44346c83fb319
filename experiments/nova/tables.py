"""The answers of every system in one table: from runs, estimates, calibrations and cheap floors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from experiments.nova.plan import GRADED
from novarag.answers.opening.beside import overlap_table
from novarag.datasets import load_groups
from novarag.metrics import METRICS
from novarag.metrics.baselines import folds, word_overlap
from novarag.runs import open_run
from novarag.uncertainty.token_likelihood import token_signal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMNS = [
    "question", "group", "kind", "answer", "confidence", "correct", "abstained", "flaw",
    "passages_judged", "passages_right", "group_judged", "group_right",
]  # fmt: skip
PROMPTS = {
    "base, vanilla": "warm-vanilla", "base, CoT": "warm-cot",
    "base, noise-aware": "warm-noise-aware", "base, NOVA prompt": "warm-nova",
}  # fmt: skip
_TRAINED = {
    "label-only": "label-only", "NOVA (brier)": "brier", "soft": "soft", "share": "share",
    "teacher": "teacher", "confidence alone": "confident-1",
    "confidence alone, then Brier": "confident-2",
}  # fmt: skip
METHODS = {"ensemble": "Ensemble(3)", "p-true": "P(True)", "self-frequency": "Self-frequency"}
LIKELIHOOD = "likelihood"
CONSTANT, OVERLAP = "a constant", "word overlap"
PARTS = ("clean", "retrieved", "released", "asked")


def trials(place: Path, *more: str) -> pl.DataFrame:
    """Read the finished trials of a run."""
    return open_run(place).trials_table([*COLUMNS, *more])


def form_of(build: Path) -> str:
    """Return the strategy that the trained systems of a proof answer by."""
    return str(json.loads((build / "facts.json").read_text())["form"])


def trained(build: Path) -> dict[str, str]:
    """Name every trained system, and the part of its runs' names."""
    form = form_of(build)
    return {
        name: f"{who}-{'label-only' if who == 'label-only' else form}"
        for name, who in _TRAINED.items()
    }


def label_of(who: str) -> str:
    """Name a trained system as the tables do."""
    return next(name for name, known in _TRAINED.items() if known == who)


def answers(build: Path, part: str) -> pl.DataFrame:
    """Put the answers of every system to one part of the test questions in one table."""
    found = [table.with_columns(system=pl.lit(name)) for name, table in _systems(build, part)]
    whole = pl.concat(found, how="vertical_relaxed")
    overlaps = overlap_table(load_groups(build / "groups" / f"test-{part}.jsonl"))
    return with_size(whole).join(overlaps, on="group", how="left", maintain_order="left")


def with_size(table: pl.DataFrame) -> pl.DataFrame:
    """Add how many passages each row's group has, by its name, where that says so."""
    return table.with_columns(k=pl.col("group").str.extract(r"k(\d)").cast(pl.Int64))


def _systems(build: Path, part: str) -> Iterator[tuple[str, pl.DataFrame]]:
    for name, run in (PROMPTS | trained(build)).items():
        if (place := build / "runs" / f"test-{run}-{part}").exists():
            yield name, trials(place)
    sampled = build / "runs" / f"test-warm-sampled-{part}" / "estimates.parquet"
    if sampled.exists():
        table = pl.read_parquet(sampled)
        for method, name in METHODS.items():
            yield name, table.filter(pl.col("method") == method).select(COLUMNS)
    for strategy in ("vanilla", "nova"):
        yield from _other_road(build, strategy, part)


def _other_road(build: Path, strategy: str, part: str) -> Iterator[tuple[str, pl.DataFrame]]:
    place = build / "runs" / f"test-warm-{strategy}-{part}"
    if not place.exists():
        return
    yield f"{LIKELIHOOD}, base {strategy}", by_likelihood(place)
    for count in GRADED:
        for signal in ("", f"-{LIKELIHOOD}"):
            path = build / "calibrated" / f"{strategy}-{count}{signal}-{part}.parquet"
            more = f", {LIKELIHOOD}" if signal else ""
            if path.exists():
                yield f"base {strategy} + calibration ({count}{more})", calibrated(place, path)


def by_likelihood(place: Path) -> pl.DataFrame:
    """State how likely the model found the tokens of its answer, as they are."""
    said = {
        (trial.group.id, trial.sample): token_signal(LIKELIHOOD, trial) for trial in open_run(place)
    }
    table = trials(place, "sample")
    chance = [said.get(key) for key in table.select("group", "sample").iter_rows()]
    return table.with_columns(confidence=pl.Series(chance, dtype=pl.Float64)).select(COLUMNS)


def calibrated(place: Path, path: Path) -> pl.DataFrame:
    """Take the calibrated confidences of a run's answers."""
    made = pl.read_parquet(path, columns=["group", "calibrated"])
    table = trials(place).join(made, on="group", how="left", maintain_order="left")
    return table.with_columns(confidence=pl.col("calibrated")).select(COLUMNS)


def floors(table: pl.DataFrame, overlaps: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """State what needs no model for a system's answers: a constant, and word overlap.

    Both are fitted on the other folds of the same questions, as `measure` does. Fits of two folds
    are not on one scale, so what ranks their numbers is averaged over folds: see `auroc_by_fold`.
    """
    read = table.filter(pl.col("correct").is_not_null() & pl.col("confidence").is_not_null())
    numbers = read.select("group").join(overlaps, on="group", how="left", maintain_order="left")
    overlap = np.array(numbers["word_overlap"].to_list(), dtype=float)
    names = sorted(read["question"].unique())
    place = {name: i for i, name in enumerate(names)}
    question = np.array([place[q] for q in read["question"]], dtype=np.intp)
    fold = folds(names)
    right = read["correct"].to_numpy().astype(bool)
    own = fold[question]
    rate = np.array([right[own != f].mean() if (own != f).any() else right.mean() for f in own])
    return {
        CONSTANT: read.with_columns(confidence=pl.Series(rate)),
        OVERLAP: read.with_columns(
            confidence=pl.Series(word_overlap(overlap, right, question, fold))
        ),
    }


def is_floor(system: str) -> bool:
    """Say whether a system of the tables is a constant or word overlap."""
    return system.startswith((f"{CONSTANT} for ", f"{OVERLAP} for "))


def auroc_by_fold(table: pl.DataFrame) -> float:
    """Return a floor's AUROC as `measure` has it for its baselines: the mean over folds.

    A constant is fitted on the other folds, so it is lowest where most answers are right: over all
    folds together its AUROC falls below one half, within each it is one half.
    """
    own = folds(table["question"].to_list())
    stated, right = table["confidence"].to_numpy(), table["correct"].to_numpy().astype(bool)
    parts = [(stated[own == f], right[own == f]) for f in np.unique(own)]
    ranked = [(METRICS["auroc"](c, y), y.size) for c, y in parts if 0 < y.sum() < y.size]
    if not ranked:
        return float("nan")
    values, sizes = zip(*ranked, strict=True)
    return float(np.average(values, weights=sizes))
