"""What the answers of each panel allow: decisions, and the rows behind the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from novarag.answers.opening.columns import Columns
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.metrics import Decisions, Measurement, Panel
    from novarag.report.examples import PanelExamples
    from novarag.stats.arrays import Floats

MOST_PANELS = 24
"""Groups of which decisions are worked out; the page draws as many."""

MOST_SHOWN = 12
"""Groups of which rows are shown."""

_ANSWERS = ("answer", "response", "output", "reply", "text")
_GOLD = ("gold", "answers", "expected", "reference")


def deciding_panels(found: Measurement) -> list[Panel]:
    """Return the panels that are decided on: each group by itself, or all where there is none."""
    panels = found.groups if len(found.groups) > 1 else (found.overall,)
    return [panel for panel in panels if not panel.refusal][:MOST_PANELS]


def decide_panels(
    table: pl.DataFrame, found: Measurement, *, recalibrate: bool, seed: int
) -> Mapping[str, Decisions]:
    """Work out what the answers of each panel allow."""
    from novarag.calibration.checked_thresholds import decide

    return {
        panel.name: decide(_graded(rows), recalibrate=recalibrate, seed=seed)
        for panel, rows in _rows_of(table, found, deciding_panels(found))
    }


def examples_behind(
    table: pl.DataFrame, found: Measurement, columns: Columns, *, seed: int
) -> Mapping[str, PanelExamples]:
    """Pick the rows to show behind the figures of each panel; none where the table has no texts."""
    from novarag.report.examples import pick_examples

    texts = _texts(table, columns)
    if not texts:
        return {}
    return {
        panel.name: pick_examples(rows, texts, seed=seed)
        for panel, rows in _rows_of(table, found, deciding_panels(found)[:MOST_SHOWN])
    }


def _rows_of(
    table: pl.DataFrame, found: Measurement, panels: Sequence[Panel]
) -> Iterator[tuple[Panel, pl.DataFrame]]:
    """Yield the graded rows of each panel."""
    import polars as pl

    from novarag.metrics import group_name

    graded = table.filter(pl.col("correct").is_not_null())
    if len(found.groups) <= 1:
        yield from ((panel, graded) for panel in panels)
        return
    names = graded.select(group_name(found.by)).to_series()
    for panel in panels:
        yield panel, graded.filter(names == panel.name)


def _graded(rows: pl.DataFrame) -> GradedAnswers:
    """Lay graded rows out as arrays, with the weights that a gate on them would take."""
    import numpy as np
    import polars as pl

    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.metrics.questions import question_keys

    question = question_keys(rows["question"]).cast(pl.Categorical).to_physical()
    return GradedAnswers(
        confidence=rows["confidence"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        correct=rows["correct"].cast(pl.Boolean).to_numpy(),
        question=question.to_numpy().astype(np.intp),
        state=np.full(rows.height, -1, dtype=np.intp),
        weight=_weight(rows),
    )


def _weight(rows: pl.DataFrame) -> Floats | None:
    """Return the weights of rows that were picked; None where the column means something else."""
    import polars as pl

    from novarag.answers.opening.arrays import WEIGHT

    if WEIGHT not in rows.columns or not rows[WEIGHT].dtype.is_numeric():
        return None
    weight = rows[WEIGHT].cast(pl.Float64).fill_nan(None)
    return weight.to_numpy() if weight.gt(0).fill_null(value=False).all() else None


def _texts(table: pl.DataFrame, columns: Columns) -> dict[str, str]:
    """Say which columns hold the texts to show: of the question, the answer, the right answer."""
    import polars as pl

    def first(names: Sequence[str | None]) -> str | None:
        text = (pl.String, pl.List(pl.String), pl.Categorical)
        return next((n for n in names if n in table.columns and table[n].dtype in text), None)

    answer = first([columns.answer, *_ANSWERS])
    gold = first([columns.gold, *_GOLD])
    if answer is None and not table["question"].cast(pl.String).str.contains(r"\S\s+\S").any():
        return {}
    found = {"question": "question", "answer": answer, "gold": gold}
    return {part: name for part, name in found.items() if name is not None}
