"""A gate: a confidence threshold with a statistical promise, or the honest word that there is none.

The promise: with probability `confidence_level` over the graded rows, at most the share `risk` of
the answers that pass are wrong. It holds for answers that come as the graded ones came; see
`fit_gate` for how it is kept.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from novarag.calibration.graded_answers import AnswerSource
from novarag.errors import DataError
from novarag.formatting import fixed_percent, short_percent
from novarag.prose import say
from novarag.records import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from novarag.report.plots import Axes

KIND = "gate 1"
"""What a file says it is; the number changes with the meaning of its fields."""

_WRITTEN_AS = {"confidence_level": "sure"}
"""Fields that a file names otherwise: files of earlier versions are read, so the key stays."""

STATED = "stated"
"""The score of a gate that was set on stated confidences."""

_APPROXIMATE = "Approximate: rows of one question were used together."


class Decision(NamedTuple):
    """Whether to give an answer, and why."""

    answer: bool
    reason: str


class ThresholdTest(NamedTuple):
    """One test on the path: a threshold, what was counted there, and what came of it.

    `answered` and `errors` are the numbers that were tested; among rows that depend on each other
    they are effective numbers. It passed where `p_value` is at most `level`.
    """

    states: str  # "all", or the one state that the chain is about
    threshold: float
    answered: float
    errors: float
    p_value: float
    level: float
    passed: bool


class RiskCoverage(NamedTuple):
    """What one would keep at another risk: the threshold, and the share of rows at or above it."""

    risk: float
    threshold: float | None
    state: str | None
    share: float


class SampleSizeEstimate(NamedTuple):
    """How many graded questions would do with a chance of 80 %, and a range for that number.

    None stands for no number: answers are wrong too often at every confidence.
    """

    rows: int | None
    low: int | None
    high: int | None


class RowCounts(NamedTuple):
    """What a gate was set on: of the rows, those used are one a question, or all."""

    rows: int
    questions: int
    used: int
    unread: int  # of those used; never answered
    wrong: int  # of those used
    ungraded: int  # were read, and left out
    weighted: bool  # picked at unequal rates, and thinned to equal ones for each test
    unread_ungraded: int = 0  # could not be read, have no grade, and were left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A threshold whose answers are wrong at most at the risk, with the stated probability.

    `threshold` is None where none could be certified; then nothing is answered, `least_risk` is
    the least whole percent that these rows could certify, and `need` says how many would do.
    `state` is the one evidence state that is answered, None for all. `approximate` says that rows
    of one question were used together, by their effective number.
    """

    risk: float
    confidence_level: float
    threshold: float | None
    state: str | None
    share: float
    errors: float
    counted: RowCounts
    path: tuple[ThresholdTest, ...]
    kept: tuple[RiskCoverage, ...]
    least_risk: float | None
    need: SampleSizeEstimate | None
    approximate: bool = False
    score: str = STATED  # or the digest of the calibration that makes the score
    source: AnswerSource = field(default_factory=AnswerSource)
    digest: str = ""
    seed: int = 0
    date: str = ""
    version: str = ""
    remarks: tuple[str, ...] = ()  # on the table it was set on

    @property
    def promise(self) -> str:
        """What the gate promises, or why it refuses, in a sentence or two."""
        return promise(self)

    def _repr_html_(self) -> str:
        from novarag.report.fragments import show_gate

        return show_gate(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw risk against coverage as it was tested, with the threshold; needs novarag[plot].

        Args:
            ax: The Axes to draw into; None makes new ones.
        """
        from novarag.report.plots import draw_gate

        return draw_gate(self, ax)

    def decide(self, score: float | None, state: str | None = None) -> Decision:
        """Say whether to give an answer with this score, beside evidence in this state.

        A reply that could not be read (None or NaN) is never answered.
        """
        if score is None or score != score:
            return Decision(False, "the reply could not be read")
        threshold = self.threshold
        if threshold is None:
            return Decision(False, "the gate certified no threshold")
        if self.state is not None and state != self.state:
            said = f"evidence is {state}" if state else "the evidence was not judged"
            return Decision(False, f"{said}; the gate answers {self.state} only")
        least = f"the threshold of {fixed_percent(threshold)}"
        if score >= threshold - TOLERANCE:
            return Decision(True, f"{fixed_percent(score)} is at or above {least}")
        return Decision(False, f"{fixed_percent(score)} is below {least}")


def to_json(gate: Gate) -> dict[str, Any]:
    """Lay a gate out as values of JSON, what a reader asks for first."""
    written = {
        **{_WRITTEN_AS.get(name, name): value for name, value in asdict(gate).items()},
        "counted": gate.counted._asdict(),
        "path": [step._asdict() for step in gate.path],
        "kept": [kept._asdict() for kept in gate.kept],
        "need": None if gate.need is None else gate.need._asdict(),
    }
    return {"kind": KIND, "promise": promise(gate), **written}


def from_json(content: object, *, source: str) -> Gate:
    """Read a gate back; `source` is the file that errors name."""
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise _unread("this is not a gate that this version reads.", source)
    try:
        gate = _read({k: v for k, v in content.items() if k not in {"kind", "promise"}})
        valid = _holds(gate)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"a field of the gate is missing or of the wrong kind ({error!r:.80})."
        raise _unread(why, source) from error
    if not valid:
        raise _unread("a field of the gate has a value that no gate has.", source)
    return gate


def _unread(problem: str, source: str) -> DataError:
    return DataError(problem, hint=say("set it again with `gate(...)`."), source=source)


def _read(content: dict[str, Any]) -> Gate:
    need = content["need"]
    named = {name: content[written] for name, written in _WRITTEN_AS.items()}
    return Gate(
        **{name: value for name, value in content.items() if name not in _WRITTEN_AS.values()}
        | named
        | {
            "counted": RowCounts(**content["counted"]),
            "path": tuple(ThresholdTest(**step) for step in content["path"]),
            "kept": tuple(RiskCoverage(**kept) for kept in content["kept"]),
            "need": None if need is None else SampleSizeEstimate(**need),
            "source": AnswerSource(**content["source"]),
            "remarks": tuple(map(str, content.get("remarks", ()))),
        }
    )


def _holds(gate: Gate) -> bool:
    """Say whether the values that decide are such as a gate has."""
    chances: Iterable[float] = (gate.risk, gate.confidence_level)
    threshold = gate.threshold
    state = gate.state
    return (
        all(type(chance) is float and 0 < chance < 1 for chance in chances)
        and (threshold is None or (type(threshold) is float and 0 <= threshold <= 1))
        and (state is None or type(state) is str)
        and type(gate.score) is str
    )


def promise(gate: Gate) -> str:
    """Say in a sentence or two what a gate promises, or why it refuses."""
    if gate.threshold is None:
        return _refusal(gate)
    what = "answers" if gate.state is None else f"answers beside {gate.state} evidence"
    score = "stated" if gate.score == STATED else "calibrated"
    said = (
        f"Of {what} at {short_percent(gate.threshold)} {score} or more, at most"
        f" {short_percent(gate.risk)} are wrong, with {short_percent(gate.confidence_level)}"
        f" probability over the graded rows; that keeps about {short_percent(gate.share)} of all"
        " answers."
    )
    return f"{said} {_APPROXIMATE}" if gate.approximate else said


def _refusal(gate: Gate) -> str:
    could = (
        "certify no risk under 100 %"
        if gate.least_risk is None
        else f"certify {short_percent(gate.least_risk)}"
    )
    return f"not attainable: these rows could {could}; {needed(gate)}"


def needed(gate: Gate) -> str:
    """Say how many graded questions a refused risk would take."""
    need, risk = gate.need, short_percent(gate.risk)
    if need is None or need.rows is None:
        return f"for {risk} no number of such rows is likely to do"
    upto = "or more" if need.high is None else f"to {need.high:,}"
    return f"for {risk} you need about {need.rows:,} ({need.low:,} {upto})"
