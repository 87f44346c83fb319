"""Tables of results in plain cells, the same for a notebook and for LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from novarag.errors import UnknownNameError
from novarag.formatting import NOTHING, format_count
from novarag.metrics import METRICS
from novarag.report.comparison import allowed, budget_title, rank_standing, verdict_word, worse_by
from novarag.report.words import RATIO_TITLES, number, span, title_of
from novarag.stats.budgets import BudgetStanding
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.metrics import Measurement, Panel
    from novarag.report.comparison import Comparison

HEADLINE = ("accuracy", "mean_confidence", "ece", "brier", "auroc")
"""Figures that a table has unless others are named: those that `print` shows."""


class ShownCell(NamedTuple):
    """What stands in a cell, and what stands below or behind it."""

    text: str
    small: str = ""


class ShownTable(NamedTuple):
    """A table as it is read: the names of its columns, and its rows, each as long as these."""

    header: tuple[str, ...]
    rows: tuple[tuple[ShownCell, ...], ...]


def tabulate_measurement(
    measurement: Measurement, metrics: Sequence[str] | None = None
) -> ShownTable:
    """Lay figures out with their intervals: a row for all answers, then one for each group.

    `metrics` names the figures; None takes the headline and what somebody brought.
    """
    brought = {m.name: m for m in measurement.metrics}
    chosen = (*HEADLINE, *brought) if metrics is None else tuple(metrics)
    known = METRICS | brought
    for name in chosen:
        if name not in known and name not in RATIO_TITLES:
            raise UnknownNameError(name, [*known, *RATIO_TITLES])

    def cell(panel: Panel, name: str) -> ShownCell:
        if name not in panel.figures:
            return ShownCell(NOTHING)
        figure = panel.figures[name]
        return ShownCell(number(name, figure.value, known), span(name, figure, known))

    return ShownTable(
        ("", "answers", "questions", *(title_of(name, known) for name in chosen)),
        tuple(
            (
                ShownCell(plain_text(panel.name, longest=60), panel.refusal or ""),
                ShownCell(format_count(panel.rows)),
                ShownCell(format_count(panel.questions)),
                *(cell(panel, name) for name in chosen),
            )
            for panel in (measurement.overall, *measurement.groups)
        ),
    )


def tabulate_comparison(found: Comparison) -> ShownTable:
    """Lay budgets out, the broken ones first, then the relations that are not simply kept."""
    return ShownTable(
        ("", "before", "now", "worse by (95 % interval)", "allowed", ""),
        (*_budgets(found), *_relations(found)),
    )


def _budgets(found: Comparison) -> Iterator[tuple[ShownCell, ...]]:
    for one in sorted(found.budgets, key=rank_standing):
        texts = (
            budget_title(one), number(one.metric, one.old), number(one.metric, one.new),
            worse_by(one), allowed(one), verdict_word(one),
        )  # fmt: skip
        yield tuple(map(ShownCell, texts))


def _relations(found: Comparison) -> Iterator[tuple[ShownCell, ...]]:
    for one in sorted(found.relations, key=rank_standing):
        if one.held is not BudgetStanding.KEPT:
            old, new = ("not asked" if v is None else str(v) for v in (one.old, one.new))
            texts = (one.title, old, new, NOTHING, NOTHING, str(one.held))
            yield tuple(map(ShownCell, texts))
