"""Graded answers, counted: those that are alike fill one cell, however many there are.

A calibration needs no row by itself: how many answers have one stated value, evidence state and
signal, and how many of them are right, is all its models look at; how far the answers of a question
go together needs the sums of each question. A million rows of a hundred levels are some hundred
cells, and leaving out a fold of questions is a subtraction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.stats.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedAnswers:
    """Graded answers that could be read: a value a cell, and two sums a question.

    `state` numbers `states`, -1 where the model judged none. `rows` and `right` count answers and
    right answers of each cell, `question_rows` and `question_right` those of each question.
    """

    confidence: Floats
    state: Ints
    signal: Floats | None
    rows: Floats
    right: Floats
    question_rows: Floats
    question_right: Floats
    states: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The states of these answers by name; the empty text is for none."""
        return tuple(sorted({self.state_name(number) for number in np.unique(self.state)}))

    def state_name(self, number: int) -> str:
        """Name a state by its number; the empty text is for none."""
        return self.states[number] if number >= 0 else ""

    @property
    def design_effect(self) -> float:
        """How many rows of one question say as much as one of its own: 1 where each has its own.

        Kish's design effect (1965, Survey Sampling): the variance of the residuals' sums by
        question, over that of as many rows that share nothing.
        """
        total, questions = self.rows.sum(), self.question_rows.size
        if questions == total:
            return 1.0
        rate = self.right.sum() / total
        alone = float(total * rate * (1 - rate))
        together = float(((self.question_right - rate * self.question_rows) ** 2).sum())
        most = float(total / questions)
        return float(np.clip(together / alone, 1.0, most)) if alone > 0 else most

    def keep(self, rows: Floats, right: Floats, questions: NDArray[np.bool_]) -> CountedAnswers:
        """Return the cells with these counts, without empty ones, and some of the questions."""
        left = rows > 0
        return replace(
            self,
            confidence=self.confidence[left],
            state=self.state[left],
            signal=None if self.signal is None else self.signal[left],
            rows=rows[left],
            right=right[left],
            question_rows=self.question_rows[questions],
            question_right=self.question_right[questions],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellNumbers:
    """In which cell each row was counted, and of which question it is."""

    cell: Ints
    question: Ints


def count_answers(graded: GradedAnswers) -> tuple[CountedAnswers, CellNumbers]:
    """Count rows that were all read; also say where each of them was counted."""
    row, cell = _alike(graded)
    question = np.unique(graded.question, return_inverse=True)[1].ravel()
    counted = CountedAnswers(
        confidence=graded.confidence[row],
        state=graded.state[row],
        signal=None if graded.signal is None else graded.signal[row],
        rows=np.bincount(cell).astype(float),
        right=np.bincount(cell, graded.correct).astype(float),
        question_rows=np.bincount(question).astype(float),
        question_right=np.bincount(question, graded.correct).astype(float),
        states=graded.states,
    )
    return counted, CellNumbers(cell=cell, question=question)


def _alike(graded: GradedAnswers) -> tuple[Ints, Ints]:
    """Number rows by what they are alike in; return a row of each number, and the numbers."""
    code = graded.state.astype(np.int64) + 1
    for column in (graded.confidence, graded.signal):
        if column is not None:
            values, at = np.unique(column, return_inverse=True)
            # numbered anew each time, so that a product of three ranks cannot overflow
            code = np.unique(code * values.size + at.ravel(), return_inverse=True)[1].ravel()
    row = np.empty(code.max(initial=-1) + 1, dtype=np.intp)
    row[code] = np.arange(code.size)
    return row, code
