"""The fitted calibration: from a stated confidence to a probability with an interval.

An average of logistic lines by evidence state and of leaving the confidence alone, then the effect
of the single stated value. Applying it needs nothing but arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log, sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from novarag.calibration.logistic_models import CENTRE, LEAST, MOST
from novarag.formatting import whole_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from novarag.calibration.graded_answers import AnswerSource
    from novarag.calibration.reference import DriftReference
    from novarag.calibration.signal_fusion import SignalFusion
    from novarag.calibration.signal_scale import SignalScale
    from novarag.report.plots import Axes
    from novarag.stats.arrays import Floats, Ints

COVERS = 0.9
"""The share of true chances that an interval is to hold."""

_PIECE = 1 << 16  # rows at a time: their arrays stay in the cache


class StateLine(NamedTuple):
    """One model's line for one state, and its weight in the average."""

    weight: float
    intercept: float
    slope: float
    signal: float


class StateMap(NamedTuple):
    """What holds in one state: the lines that are averaged, and the moments of their log-odds.

    With v = (1, x, z), the log-odds have mean `mean`·v and second moment v'Sv over models and
    their coefficients; `square` is the upper triangle of S, by rows.
    """

    lines: tuple[StateLine, ...]
    mean: tuple[float, float, float]
    square: tuple[float, float, float, float, float, float]


class LevelShift(NamedTuple):
    """What one stated value does beside the lines, in log-odds."""

    shift: float
    variance: float


class ObservedRange(NamedTuple):
    """What was graded in one state: rows, how many of them right, least and most confidence."""

    rows: int
    right: int
    least: float
    most: float


class ConfidenceFigures(NamedTuple):
    """Figures of confidences on graded answers."""

    brier: float
    smooth_ece: float
    auroc: float | None


STATED_BESIDE, CONSTANT_BESIDE = "the stated confidence", "one confidence for all answers"
"""What a calibration is set beside: the second where no confidence was stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRecord:
    """On what a calibration was fitted, and how it did on rows that it had not seen."""

    rows: int
    questions: int
    unread: int
    ungraded: int
    digest: str
    date: str
    seed: int
    version: str
    stated: ConfidenceFigures  # the same rows, confidences as stated
    calibrated: ConfidenceFigures  # cross-validated by question
    design_effect: float = 1.0  # rows of one question count as one part in so many
    known: str = ""  # short digests of the questions' names, in base64
    unread_graded: int = 0  # of the unread ones
    beside: str = STATED_BESIDE  # what `stated` are the figures of
    remarks: tuple[str, ...] = ()  # on the table it was fitted on


class CalibratedConfidence(NamedTuple):
    """A calibrated confidence: probability, 90 % interval, and what is to be said of it."""

    probability: float
    low: float
    high: float
    note: str | None = None


class CalibratedRows(NamedTuple):
    """Calibrated confidences of many rows; NaN where a reply could not be read."""

    probability: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A map from stated confidence, evidence state and perhaps a signal to a probability.

    States are named as in the graded answers, by the empty text where the model judged none;
    `unseen` is for any other. `identity` is the weight of leaving a confidence as it is. With a
    `fusion` the score that it makes of several signals stands in the place of the confidence.
    """

    states: Mapping[str, StateMap]
    unseen: StateMap
    identity: float
    levels: Mapping[str, Mapping[int, LevelShift]]  # by state and whole percent
    unseen_variance: float
    quantile: float  # standard deviations to either end of an interval
    seen: Mapping[str, ObservedRange]
    source: AnswerSource
    signal: SignalScale | None = None
    fusion: SignalFusion | None = None
    fitted: FitRecord | None = None
    reference: DriftReference | None = None  # what the answers looked like, to tell drift

    def _repr_html_(self) -> str:
        from novarag.report.fragments import show_calibration

        return show_calibration(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what stated confidences become, with 90 % intervals; needs novarag[plot].

        Args:
            ax: The Axes to draw into; None makes new ones.
        """
        from novarag.report.plots import draw_calibration

        return draw_calibration(self, ax)

    def one(
        self, confidence: float, state: str | None = None, signal: float | None = None
    ) -> CalibratedConfidence:
        """Calibrate one stated confidence; a reply without one has no business here."""
        if not 0 <= confidence <= 1:
            raise ValueError(f"confidence must be from 0 to 1, not {confidence!r}")
        name = state or ""
        lines, mean, square = self.states.get(name, self.unseen)
        kept = min(max(confidence, LEAST), MOST)
        x = log(kept / (1 - kept)) - CENTRE
        z, zz = self._score(signal)
        chance = self.identity * confidence
        for weight, intercept, slope, by_signal in lines:
            chance += weight / (1 + exp(-(intercept + slope * x + by_signal * z)))
        middle = mean[0] + mean[1] * x + mean[2] * z
        spread = _quadratic(square, x, z, zz) - middle * middle
        shift, variance = self.levels.get(name, _NONE).get(
            _percent(confidence), (0.0, self.unseen_variance)
        )
        chance = min(max(chance, EDGE), 1 - EDGE)
        probability = 1 / (1 + exp(-(log(chance / (1 - chance)) + shift)))
        reach = self.quantile * sqrt(max(spread, 0.0) + variance)
        low = 1 / (1 + exp(reach - middle - shift))
        high = 1 / (1 + exp(-reach - middle - shift))
        return CalibratedConfidence(
            probability, min(low, probability), max(high, probability), self._note(name, confidence)
        )

    def apply(
        self,
        confidence: Floats,
        state: Sequence[str | None] | None = None,
        signal: Floats | None = None,
    ) -> CalibratedRows:
        """Calibrate many stated confidences; NaN stays NaN."""
        numbers = self._numbered(confidence.size, state)
        given = None if self.signal is None else signal
        out = CalibratedRows(*(np.full(confidence.size, np.nan) for _ in range(3)))
        for number, name in enumerate([*self.states, None]):
            rows = np.flatnonzero(numbers == number)
            for piece in np.array_split(rows, rows.size // _PIECE + 1):
                made = self._alike(name, confidence[piece], None if given is None else given[piece])
                for column, values in zip(out, made, strict=True):
                    column[piece] = values
        return out

    def _alike(self, name: str | None, confidence: Floats, signal: Floats | None) -> CalibratedRows:
        """Calibrate rows of one state; without a signal each value once."""
        if signal is not None:
            return self._rows(name, confidence, signal)
        values, back = np.unique(confidence, return_inverse=True)
        return CalibratedRows(*(column[back] for column in self._rows(name, values, None)))

    def _numbered(self, rows: int, state: Sequence[str | None] | None) -> Ints:
        """Number states as the lines are; one that was not seen comes last."""
        last = len(self.states)
        if state is None:
            return np.full(rows, self._numbers.get("", last), dtype=np.intp)
        return np.array([self._numbers.get(name or "", last) for name in state], dtype=np.intp)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.states)}

    def _rows(self, name: str | None, confidence: Floats, signal: Floats | None) -> CalibratedRows:
        from scipy.special import expit, logit

        lines, mean, square = self.unseen if name is None else self.states[name]
        x = logit(np.clip(confidence, LEAST, MOST)) - CENTRE
        z, zz = self._scores(signal, confidence.size)
        chance = self.identity * confidence
        for weight, intercept, slope, by_signal in lines:
            chance = chance + weight * expit(intercept + slope * x + by_signal * z)
        middle = mean[0] + mean[1] * x + mean[2] * z
        spread = _quadratic(square, x, z, zz) - middle**2
        shift, variance = self._levels(name, confidence)
        probability = expit(logit(np.clip(chance, EDGE, 1 - EDGE)) + shift)
        reach = self.quantile * np.sqrt(np.maximum(spread, 0.0) + variance)
        return CalibratedRows(
            probability,
            np.minimum(expit(middle + shift - reach), probability),
            np.maximum(expit(middle + shift + reach), probability),
        )

    def _levels(self, name: str | None, confidence: Floats) -> tuple[Floats, Floats]:
        shift, variance = np.zeros(101), np.full(101, self.unseen_variance)
        for percent, level in (
            self.levels.get(name or "", _NONE).items() if name is not None else ()
        ):
            shift[percent], variance[percent] = level
        at = percents(np.nan_to_num(confidence))
        return shift[at], variance[at]

    def notes(
        self, confidence: Floats, state: Sequence[str | None] | None = None
    ) -> list[str | None]:
        """Say of each row what `one` would note, which is nothing inside what was graded."""
        named = [None] * confidence.size if state is None else state
        found: list[str | None] = [None] * confidence.size
        for row in np.flatnonzero(self.outside(confidence, state)).tolist():
            found[row] = self._note(named[row] or "", float(confidence[row]))
        return found

    def outside(
        self, confidence: Floats, state: Sequence[str | None] | None = None
    ) -> NDArray[np.bool_]:
        """Say which confidences are outside what was graded in their state."""
        ends = [(self.seen[name].least, self.seen[name].most) for name in self.states]
        limits = np.array([*ends, (np.inf, -np.inf)])
        least, most = limits[self._numbered(confidence.size, state)].T
        return np.asarray((confidence < least) | (confidence > most))

    def _note(self, name: str, confidence: float) -> str | None:
        if name not in self.states:
            return f"no graded answer had the evidence state {str(name)!r}" if name else _NO_STATE
        seen = self.seen[name]
        if seen.least <= confidence <= seen.most:
            return None
        return (
            f"{whole_percent(confidence)} is outside the confidences that were graded"
            f" ({whole_percent(seen.least)} to {whole_percent(seen.most)})"
        )

    def _score(self, signal: float | None) -> tuple[float, float]:
        """Return the normal score of a signal and its square, as expected of one missing."""
        scale = self.signal
        if scale is None or signal is None or signal != signal:
            return 0.0, 1.0
        score = scale.one(signal)
        return score, score * score

    def _scores(self, signal: Floats | None, rows: int) -> tuple[Floats, Floats]:
        if self.signal is None or signal is None:
            return np.zeros(rows), np.ones(rows)
        missing = np.isnan(signal)
        scores = np.where(missing, 0.0, self.signal.many(signal))
        return scores, np.where(missing, 1.0, scores**2)


T = TypeVar("T", float, "Floats")


def _quadratic(square: tuple[float, ...], x: T, z: T, zz: T) -> T:
    """Return v'Sv with v = (1, x, z) and z² given apart."""
    one, by_x, by_z, xx, xz, squared = square
    return one + 2 * (by_x * x + by_z * z + xz * x * z) + xx * x * x + squared * zz


_NONE: Mapping[int, LevelShift] = {}
EDGE = 1e-4
"""How near to 0 or 1 a probability comes, as an average may round to what has no log-odds."""

_NO_STATE = "no graded answer was without an evidence state"


def _percent(confidence: float) -> int:
    return int(confidence * 100 + 0.5)


def percents(confidence: Floats) -> Ints:
    """Return each confidence as a whole percent, halves up."""
    return (confidence * 100 + 0.5).astype(np.intp)
