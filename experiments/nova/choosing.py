"""What is chosen on dev questions, by which rule, and when: no choice after the first test request.

The rule was written down before anything was trained: of those whose recalibrated Brier score on
dev questions is within one standard error of the best, the one with the highest AUROC. Recalibrated,
because a wrong level is cheap to mend and a number that tells nothing is not; within an error,
because the score alone would choose whoever states the base rate. Only those take part that are
right at most two points less often than the best: a model that answers nothing is never wrong
about its chances. (That was added on dev questions, when such a model had been chosen.)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.fit_calibration import cross_fit, score_confidences
from novarag.calibration.graded_answers import GradedAnswers
from novarag.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

CHOICES, COMMANDS = "choices.jsonl", "commands.jsonl"
TEST = "runs/test-"
"""How the name of every run of test questions begins."""

RULE = (
    "the highest dev AUROC of those whose recalibrated dev Brier score is within one standard error"
    " of the lowest, among those right at most two points less often than the best"
)
LOST = 0.02
"""Share of right answers that a candidate may lose, as the goal allows."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How one candidate does on dev questions; its Brier score is that after a recalibration."""

    auroc: float
    brier: float
    error: float
    rows: int
    accuracy: float


def measured(answers: pl.DataFrame) -> Measured:
    """Measure a table of answers, recalibrated across folds of questions; unread replies are wrong.

    They get the lowest confidence: a system does not gain by saying nothing.
    """
    import polars as pl

    table = answers.select(
        "question",
        confidence=pl.col("confidence").fill_null(0.0),
        correct=pl.col("correct").fill_null(value=False),
    )
    graded = GradedAnswers(
        confidence=table["confidence"].to_numpy(),
        correct=table["correct"].to_numpy(),
        question=table["question"].rank("dense").to_numpy().astype(np.intp) - 1,
        state=np.full(table.height, -1, dtype=np.intp),
        states=(),
    )
    chance = cross_fit(graded, seed=0)
    losses = (chance - table["correct"].cast(pl.Float64).to_numpy()) ** 2
    each = (
        table.with_columns(loss=pl.Series(losses)).group_by("question").agg(pl.col("loss").mean())
    )
    stated = score_confidences(graded.confidence, graded.correct, graded.weights)
    return Measured(
        auroc=stated.auroc if stated.auroc is not None else 0.5,
        brier=float(losses.mean()),
        error=float(each["loss"].std() / np.sqrt(each.height)),
        rows=table.height,
        accuracy=float(table["correct"].mean()),
    )


def choose(found: Mapping[str, Measured]) -> str:
    """Apply the rule; of equals the first.

    >>> even = dict(error=0.01, rows=400, accuracy=0.4)
    >>> choose({"dull": Measured(auroc=0.52, brier=0.200, **even),
    ...         "sharp": Measured(auroc=0.71, brier=0.205, **even),
    ...         "off": Measured(auroc=0.80, brier=0.250, **even)})
    'sharp'
    >>> choose({"sharp": Measured(auroc=0.71, brier=0.205, **even),
    ...         "silent": Measured(auroc=0.5, brier=0.0, error=0.0, rows=400, accuracy=0.0)})
    'sharp'
    """
    most = max(m.accuracy for m in found.values())
    right = {name: m for name, m in found.items() if m.accuracy >= most - LOST}
    best = min(right.values(), key=lambda m: m.brier)
    near = {name: m for name, m in right.items() if m.brier <= best.brier + best.error}
    return max(near, key=lambda name: near[name].auroc)


def write_choice(build: Path, what: str, chosen: str, figures: Mapping[str, object]) -> None:
    """Log a choice with its time; refused once a test question was asked."""
    if (first := first_test(build)) is not None:
        raise DataError(
            f"{what!r} cannot be chosen any more: test questions were asked from {first} on.",
            hint="begin in another build folder.",
        )
    row = {"time": datetime.now(UTC).isoformat(), "what": what, "chosen": chosen,
           "rule": RULE, "figures": figures}  # fmt: skip
    with (build / CHOICES).open("a") as log:
        log.write(json.dumps(row) + "\n")


def choice_of(build: Path, what: str) -> str | None:
    """Return what was chosen, or None."""
    return next((row["chosen"] for row in _lines(build / CHOICES) if row["what"] == what), None)


def first_test(build: Path) -> str | None:
    """Return when the first command began that asks test questions; None if none did."""
    times = [r["began"] for r in _lines(build / COMMANDS) if "began" in r and TEST in r["command"]]
    return min(times, default=None)


def check_times(build: Path) -> None:
    """Raise if a choice is later than the first test request, or one was made twice."""
    rows = _lines(build / CHOICES)
    first = first_test(build)
    late = [row["what"] for row in rows if first is not None and row["time"] >= first]
    if late:
        raise DataError(
            f"{late} were chosen after test questions were asked at {first}.",
            hint="begin in another build folder.",
        )
    names = [row["what"] for row in rows]
    if twice := {name for name in names if names.count(name) > 1}:
        raise DataError(
            f"{sorted(twice)} were chosen twice.", hint="begin in another build folder."
        )


def _lines(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    return [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines()]
