"""Graded answers as arrays, what is alike of them counted, and which questions they answer.

A calibration is fitted on them, and a gate is set. It needs no row by itself: how many answers have
one stated value, evidence state and signal, and how many of them are right, is all its models look
at; how far the answers of a question go together needs the sums of each question. A million rows of
a hundred levels are some hundred cells, and leaving out a fold of questions is a subtraction. The
questions are kept as short digests, so that nothing is judged on those it was fitted on: enough to
tell questions apart, too little to read them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from novarag.seeding import stable_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from novarag.stats.arrays import Floats, Ints


UNKNOWN = "unknown"
"""How a model or a prompt is called where a table names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSource:
    """Whose answers they are, as far as a table says."""

    model: str = UNKNOWN
    prompt: str = UNKNOWN  # the hash of the prompt's template

    @classmethod
    def named(cls, model: str | None, prompt: str | None) -> AnswerSource:
        """Take the names that a caller gave; what is not named is unknown."""
        return cls(model=model or UNKNOWN, prompt=prompt or UNKNOWN)

    def differs_from(self, other: AnswerSource) -> str | None:
        """Name what is known on both sides and not the same; None where nothing is."""
        for name, ours, theirs in (
            ("model", self.model, other.model),
            ("prompt", self.prompt, other.prompt),
        ):
            if UNKNOWN not in {ours, theirs} and ours != theirs:
                return name
        return None


class SignalTable(NamedTuple):
    """Signals of rows: their names, values with NaN for a missing one, and known directions.

    `lower` says of each signal whether lower is better; None leaves it to the graded rows.
    """

    names: tuple[str, ...]
    values: Floats
    lower: tuple[bool | None, ...]

    def rows(self, which: NDArray[np.bool_] | Ints) -> SignalTable:
        """Return some of the rows."""
        return self._replace(values=self.values[which])

    def without(self, at: int) -> SignalTable:
        """Leave one signal out."""
        kept = [i for i in range(len(self.names)) if i != at]
        lower = tuple(self.lower[i] for i in kept)
        return SignalTable(tuple(self.names[i] for i in kept), self.values[:, kept], lower)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAnswers:
    """Graded answers, a row each; a reply that could not be read has no confidence (NaN).

    `state` numbers `states`, the evidence states that occur; -1 where the model judged none.
    `question` numbers questions: rows with one number depend on each other. `weight` says how many
    answers of the log a row stands for, where rows were picked at unequal rates. Rows that nobody
    graded are not among them, only counted: `ungraded` were read, `unread_ungraded` were not.
    """

    confidence: Floats
    correct: NDArray[np.bool_]
    question: Ints
    state: Ints
    states: tuple[str, ...] = ()
    signal: Floats | None = None
    signal_name: str | None = None
    weight: Floats | None = None
    source: AnswerSource = AnswerSource()
    digest: str = ""
    question_ids: tuple[str, ...] = ()
    ungraded: int = 0
    unread_ungraded: int = 0
    remarks: tuple[str, ...] = ()  # on the table they come from, a sentence or two each
    scores: SignalTable | None = None  # to be fused
    states_confidence: bool = True  # otherwise scores stand in for it, and each row is read

    def __len__(self) -> int:
        return self.confidence.size

    @property
    def read(self) -> NDArray[np.bool_]:
        """Which rows have a confidence."""
        return ~np.isnan(self.confidence)

    @property
    def weights(self) -> Floats:
        """How many answers each row stands for: one, unless rows were picked."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def state_name(self, number: int) -> str:
        """Name a state by its number; the empty text is for none."""
        return self.states[number] if number >= 0 else ""

    @property
    def seen_states(self) -> tuple[str, ...]:
        """The states that these rows have, none among them."""
        return tuple(sorted({self.state_name(number) for number in np.unique(self.state)}))

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return np.unique(self.question).size

    def rows(self, which: NDArray[np.bool_] | Ints) -> GradedAnswers:
        """Return some of the rows; states and question ids keep their numbers."""
        return replace(
            self,
            confidence=self.confidence[which],
            correct=self.correct[which],
            question=self.question[which],
            state=self.state[which],
            signal=None if self.signal is None else self.signal[which],
            weight=None if self.weight is None else self.weight[which],
            scores=None if self.scores is None else self.scores.rows(which),
        )


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


_SIZE = 5  # bytes: by the birthday bound two of a million questions meet with a chance of .37


def _digest(name: str) -> bytes:
    return stable_hash("question", name, size=_SIZE).to_bytes(_SIZE)


def pack_questions(names: Iterable[str]) -> str:
    """Keep the digests of questions' names as one text."""
    return b64encode(b"".join(sorted({_digest(name) for name in names}))).decode()


def shared_questions(packed: str, names: Iterable[str]) -> list[str]:
    """Return the names that are among those packed."""
    raw = b64decode(packed)
    known = {raw[i : i + _SIZE] for i in range(0, len(raw), _SIZE)}
    return [name for name in names if _digest(name) in known]
