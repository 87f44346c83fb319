"""The nouns. Frozen, keyword-only, no behaviour beyond what follows from their fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING

from novarag.taxonomy import (
    EvidenceState,
    Grade,
    GroupKind,
    PassageKind,
    Provenance,
    RelevantFacet,
    Rule,
    Utility,
    group_kind,
    rules_for,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


TOLERANCE = 1e-9
"""Confidences that differ by less are the same: only rounding parts them. It is far below the
smallest step that anybody states, and far above the rounding of sums of a few floats."""


class AnswerForm(StrEnum):
    """The shape of answer a question asks for."""

    YES_NO = "yes/no"
    OPEN = "open"


class NumberScale(StrEnum):
    """What a bare number means, which is what the prompt asked for: 0%-100%, 0-100 or 0-1."""

    PERCENT = "percent"
    HUNDRED = "hundred"
    UNIT = "unit"


class Flaw(StrEnum):
    """Why a reply could not be read, or a method found no confidence. A reason, never a zero."""

    EMPTY = "the reply is empty"
    NO_PASSAGE = "no passage found"
    UNFINISHED = "the reasoning never ended"
    TRUNCATED = "the reply was cut off"
    QUOTED = "the only confidence is in a quotation"
    DISAGREE = "two answers or confidences disagree"
    NO_ANSWER = "no answer found"
    NO_CONFIDENCE = "no confidence found"
    WORDS = "the confidence is not a number"
    RANGE = "the confidence is a range"
    OUT_OF_BOUNDS = "the confidence is outside 0-100 %"
    DIGITS = "the confidence is not in ASCII digits"
    MALFORMED = "the confidence is a malformed number"
    DOUBT = "words beside the confidence turn it round or blur it"
    SECOND = "a second number is stated as confidence"
    AMBIGUOUS = "the confidence could be a fraction or a percent"
    NO_LOGPROBS = "the reply came without log-probabilities"
    UNPLACED = "the answer was not found among the reply's tokens"
    NO_VERDICT = "neither true nor false is among the likeliest first tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query and the answers we accept."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    form: AnswerForm = AnswerForm.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text of a corpus, before it is cut into passages."""

    id: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One retrieved or generated text. `kind` is None when nobody has labelled it."""

    text: str
    kind: PassageKind | None = None
    facet: RelevantFacet | None = None
    claim: str | None = None
    provenance: Provenance | None = None
    source: str | None = None
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.facet is not None and self.kind is not PassageKind.RELEVANT:
            raise ValueError(f"only a relevant passage has a facet, this one is {self.kind}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageGroup:
    """A question with the passages shown beside it, in the order shown.

    `order` keeps the permutation that `assemble` drew: shown passage i was given as `order[i]`.
    """

    question: Question
    passages: tuple[Passage, ...]
    id: str | None = None
    order: tuple[int, ...] | None = None
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse texts in the place of passages, which would fail far from here."""
        given: tuple[object, ...] = self.passages
        for passage in given:
            if not isinstance(passage, Passage):
                kind = type(passage).__name__
                raise TypeError(f"passages must be records, such as Passage(text=...), not {kind}")

    @property
    def kinds(self) -> tuple[PassageKind, ...] | None:
        """The kind of each passage, or None if any passage is unlabelled."""
        kinds = tuple(p.kind for p in self.passages if p.kind is not None)
        return kinds if len(kinds) == len(self.passages) else None

    @property
    def kind(self) -> GroupKind | None:
        """Derived, never stored: a group cannot disagree with its passages."""
        return None if self.kinds is None else group_kind(self.kinds)

    @property
    def rules(self) -> frozenset[Rule]:
        """The NOVA rules that bind here."""
        return frozenset() if self.kinds is None else rules_for(self.kinds)

    @property
    def evidence(self) -> int | None:
        """How many passages a perfect reader would call highly relevant."""
        if self.kinds is None:
            return None
        return sum(kind.utility is Utility.HIGHLY_RELEVANT for kind in self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A rendered prompt, with the name and the hash of the template it came from."""

    text: str
    strategy: str
    template_hash: str

    @property
    def hash(self) -> str:
        """SHA-256 of the rendered text."""
        return sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What came back over the wire, untouched; reasoning that the server kept apart stays apart.

    Only our own key is taken out, and the ledger says where that was done.

    `tokens` and `logprobs` stand side by side, and are empty unless they were asked for. So are
    `alternatives`: tokens that the first one could have been, with their log-probabilities.
    """

    text: str
    model: str
    truncated: bool = False
    reasoning: str | None = None
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What the model said of the evidence: J_p for each passage, J_g for the group."""

    passages: tuple[Utility, ...]
    group: EvidenceState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A completion as read: answer, confidence in [0, 1], and judgment if one was given.

    `rule_step` says whether the reply has the step that applies the rules; None where nobody knows
    how many passages, and so how many steps, there were.
    """

    answer: str
    confidence: float
    judgment: Judgment | None = None
    rule_step: bool | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"confidence must lie in [0, 1], got {self.confidence}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the reader made of one reply: each part, where it stood, and the flaw if there is one.

    `spans` maps a part to (start, end) in the reply. `remarks` are oddities that do not make the
    reply unreadable, such as two classes for three passages.
    """

    answer: str | None = None
    confidence: float | None = None
    judgment: Judgment | None = None
    rule_step: bool | None = None
    flaw: Flaw | None = None
    spans: Mapping[str, tuple[int, int]]
    remarks: tuple[str, ...] = ()

    @property
    def response(self) -> Response | None:
        """The response, or None where the reply is flawed."""
        if self.flaw is not None or self.answer is None or self.confidence is None:
            return None
        return Response(
            answer=self.answer,
            confidence=self.confidence,
            judgment=self.judgment,
            rule_step=self.rule_step,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One question asked once: the row of every file and the unit of every statistic.

    There is a response or a flaw; neither where the reply was asked for passages, not an answer.
    """

    group: PassageGroup
    strategy: str
    sample: int
    completion: Completion
    response: Response | None
    flaw: Flaw | None = None
    grade: Grade | None = None

    def __post_init__(self) -> None:
        if self.response is not None and self.flaw is not None:
            raise ValueError("a trial has a response or a flaw, never both")

    @property
    def correct(self) -> bool | None:
        """True when graded right, None when not graded."""
        return None if self.grade is None else self.grade is Grade.RIGHT
