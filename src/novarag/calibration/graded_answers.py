"""Graded answers as arrays: what a calibration is fitted on and a gate is set on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
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
        )
