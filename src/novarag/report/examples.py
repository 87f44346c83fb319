"""Rows behind the figures: the most confident wrong answers, and a few of every bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.metrics import bin_of
from novarag.metrics.calibration import BINS
from novarag.seeding import seed_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

MOST_WRONG = 8
"""Confident wrong answers that are shown."""

WRONG_IN_BIN, RIGHT_IN_BIN = 3, 2
"""Rows shown of each bin."""

LONGEST = 400
"""Characters of a text that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerExample:
    """One answer: what was asked and said, how surely, and whether it was right."""

    question: str
    answer: str | None
    gold: str | None
    confidence: float
    correct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelExamples:
    """The most confident wrong answers of a panel, and some answers of each bin, by its number."""

    confident_wrong: tuple[AnswerExample, ...]
    bins: Mapping[int, tuple[AnswerExample, ...]]


def pick_examples(rows: pl.DataFrame, texts: Mapping[str, str], *, seed: int) -> PanelExamples:
    """Pick rows to show, by seed; `texts` names the columns of question, answer and gold."""
    import polars as pl

    read = rows.filter(pl.col("confidence").is_not_null() & pl.col("confidence").is_not_nan())
    confidence = read["confidence"].cast(pl.Float64).to_numpy()
    correct = read["correct"].cast(pl.Boolean).to_numpy()
    own_seed = seed_for(seed, "examples")
    chance = np.random.default_rng(own_seed).random(confidence.size)
    at = bin_of(confidence)
    order = np.lexsort((chance, -confidence))
    wrong = order[~correct[order]][:MOST_WRONG]
    shuffled = np.argsort(chance)
    inside = {}
    for number in range(BINS):
        here = shuffled[at[shuffled] == number]
        some = [*here[~correct[here]][:WRONG_IN_BIN], *here[correct[here]][:RIGHT_IN_BIN]]
        if some:
            inside[number] = tuple(_examples(read, texts, some))
    return PanelExamples(confident_wrong=tuple(_examples(read, texts, wrong)), bins=inside)


def _examples(
    rows: pl.DataFrame, texts: Mapping[str, str], which: Iterable[int]
) -> Iterable[AnswerExample]:
    for row in rows[[int(i) for i in which]].iter_rows(named=True):
        said = {
            part: _text(row.get(texts.get(part, ""))) for part in ("question", "answer", "gold")
        }
        yield AnswerExample(
            question=said["question"] or "",
            answer=said["answer"],
            gold=said["gold"],
            confidence=float(row["confidence"]),
            correct=bool(row["correct"]),
        )


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = " / ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
