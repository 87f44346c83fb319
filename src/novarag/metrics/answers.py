"""The table that `measure` works on: one row per trial, from records or from a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from novarag.grouping import check_judgment, evidence_state
from novarag.taxonomy import Grade

if TYPE_CHECKING:
    from collections.abc import Iterable

    from novarag.records import Trial

SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "question": pl.String,
    "group": pl.String,
    "kind": pl.String,
    "strategy": pl.String,
    "model": pl.String,
    "sample": pl.Int64,
    "answer": pl.String,
    "confidence": pl.Float64,
    "correct": pl.Boolean,
    "abstained": pl.Boolean,
    "flaw": pl.String,
    "evidence": pl.String,
    "judgments": pl.List(pl.String),
    "passages_judged": pl.Int64,
    "passages_right": pl.Int64,
    "group_judged": pl.Int64,
    "group_right": pl.Int64,
    "rule_step": pl.Boolean,
}


def tabulate(trials: Iterable[Trial]) -> pl.DataFrame:
    """Lay trials out as the table that `measure` and the reports work on."""
    return pl.DataFrame([_row(t) for t in trials], schema=SCHEMA)


def _row(trial: Trial) -> dict[str, object]:
    response = trial.response
    judgment = response.judgment if response else None
    return {
        "question": trial.group.question.id,
        "group": trial.group.id,
        "kind": trial.group.kind,
        "strategy": trial.strategy,
        "model": trial.completion.model,
        "sample": trial.sample,
        "answer": response.answer if response else None,
        "confidence": response.confidence if response else None,
        "correct": trial.correct,
        "abstained": None if trial.grade is None else trial.grade is Grade.ABSTAINED,
        "flaw": trial.flaw,
        "evidence": judgment and judgment.group,
        "judgments": judgment and list(judgment.passages),
        **check_judgment(judgment, trial.group.kinds, evidence_state(trial.group)),
        "rule_step": response.rule_step if response else None,
    }
