"""What the plug-ins share: one reply read and graded, and some rows measured, by our functions."""

from __future__ import annotations

from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING

import polars as pl

from novarag.answers.opening.gold import form_of
from novarag.metrics import measure_table
from novarag.records import Completion, PassageGroup, Question
from novarag.trials import make_trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.metrics import Panel
    from novarag.records import Trial
    from novarag.strategies import Strategy

HEADLINE = ("accuracy", "ece", "brier", "auroc", "aurc", "accuracy_at_80", "coverage_at_10")
"""The figures that belong together: ECE alone is won by a constant."""

MarkRow = tuple[str, float | None, bool | None]
"""The question, the stated confidence and whether the answer is right."""


def mark_reply(
    reply: str, answers: Sequence[str], strategy: Strategy, *, truncated: bool = False
) -> Trial:
    """Read one reply and grade it against the accepted answers; empty ones are none."""
    accepted = tuple(answer for answer in answers if answer.strip())
    question = Question(id="", text="", answers=accepted, form=form_of(accepted))
    group = PassageGroup(question=question, passages=())
    return make_trial(group, strategy, 0, Completion(text=reply, model="", truncated=truncated))


@lru_cache(maxsize=4)
def measured(rows: tuple[MarkRow, ...], replicates: int, seed: int) -> Panel:
    """Measure rows; several metrics of one evaluation ask for the same rows."""
    names = ("question", "confidence", "correct")
    schema = dict(zip(names, (pl.String, pl.Float64, pl.Boolean), strict=True))
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return measure_table(frame, replicates=replicates, seed=seed).overall


def values_of(panel: Panel, metrics: Sequence[str]) -> dict[str, float]:
    """Name each figure's value and the ends of its interval; all are NaN where none is known."""
    values = {}
    for name in metrics:
        figure = panel.figures.get(name)
        ends = (nan, nan, nan) if figure is None else (figure.value, figure.low, figure.high)
        for end, value in zip((name, f"{name}_low", f"{name}_high"), ends, strict=True):
            values[end] = nan if value is None else value
    return values


def beside(panel: Panel) -> dict[str, float]:
    """Give what ECE and Brier must be read beside: the noise floor, a constant, and the rows."""
    constant = panel.baselines.get("constant", {})
    return {
        "ece_noise_floor": panel.floor.line if panel.floor else nan,
        "ece_of_a_constant": constant["ece"].value if constant else nan,
        "brier_of_a_constant": constant["brier"].value if constant else nan,
        "rows": float(panel.rows),
        "questions": float(panel.questions),
    }
