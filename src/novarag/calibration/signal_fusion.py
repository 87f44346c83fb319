"""Several signals as one score: the chance that an answer is right, averaged over small models.

Each model is a logistic line in the signals' normal scores. A signal that is missing gets the
lowest contribution that any of its values has, or less, in each model: so a signal that is lost, or
held back, never raises the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from novarag.calibration.signal_scale import SignalScale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.stats.arrays import Floats

FUSED_DIGITS = 12
"""Digits of a fused score: what differs by rounding alone is to tie."""

STATED_SIGNAL = "stated confidence"
"""What a stated confidence is called where it is one signal among others."""


def is_missing(value: float | None) -> bool:
    """Say whether a signal has no value: None and NaN are none."""
    return value is None or value != value


class FusedSignal(NamedTuple):
    """A signal as a fusion takes it: its scale, which way is better, and how that is known.

    Scores of the scale rise with what speaks for an answer.
    """

    scale: SignalScale
    lower: bool  # lower values speak for an answer
    found: bool  # in the graded rows; otherwise somebody said so
    contrary: bool = False  # the graded rows say the opposite of what was said

    @property
    def name(self) -> str:
        """How the signal is called."""
        return self.scale.name


def score_columns(signals: Sequence[FusedSignal], table: Floats) -> Floats:
    """Return the normal scores of the columns of a table, a signal each; NaN stays NaN."""
    made = np.empty_like(table)
    for at, signal in enumerate(signals):
        made[:, at] = signal.scale.many(table[:, at])
    return made


class FusionModel(NamedTuple):
    """One logistic line: its weight in the average, and what each signal adds.

    A score below its floor counts as the floor. `missing` holds what an absent signal adds.
    """

    weight: float
    intercept: float
    slopes: tuple[float, ...]
    floors: tuple[float, ...]
    missing: tuple[float, ...]


class SignalGain(NamedTuple):
    """What a signal adds: the Brier score without it less that with it, on unseen questions."""

    name: str
    gain: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """Say whether the graded rows show that the signal adds something."""
        return "adds" if self.low > 0 else "harms" if self.high < 0 else "adds nothing shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFusion:
    """A map from several signals to one score from 0 to 1.

    `gains` says what each signal adds beside the others, where that was worked out.
    """

    signals: tuple[FusedSignal, ...]
    models: tuple[FusionModel, ...]
    gains: tuple[SignalGain, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the signals, in the order of a table's columns."""
        return tuple(signal.name for signal in self.signals)

    @property
    def takes_stated(self) -> bool:
        """Whether the stated confidence is one of the signals."""
        return STATED_SIGNAL in self.names

    def many(self, table: Floats) -> Floats:
        """Return the score of each row; a column is a signal, and NaN is a missing value."""
        absent = np.isnan(table)
        scored = score_columns(self.signals, table)
        total = np.zeros(table.shape[0])
        for weight, intercept, slopes, floors, missing in self.models:
            added = np.where(absent, missing, np.maximum(scored, floors) * np.array(slopes))
            total += weight / (1 + np.exp(-(intercept + added.sum(axis=1))))
        return total

    def one(self, values: Mapping[str, float | None]) -> float:
        """Return the score of one answer; a signal that is not among the values is missing."""
        given = [(signal.scale, values.get(signal.name)) for signal in self.signals]
        scored = [None if v is None or is_missing(v) else scale.one(v) for scale, v in given]
        total = 0.0
        for weight, intercept, slopes, floors, missing in self.models:
            eta = intercept + sum(
                absent if score is None else slope * max(score, floor)
                for score, slope, floor, absent in zip(scored, slopes, floors, missing, strict=True)
            )
            total += weight / (1 + exp(-eta))
        return total


def fusion_json(fusion: SignalFusion) -> dict[str, Any]:
    """Lay a fusion out as values of JSON."""
    return {
        "signals": [
            {
                "name": signal.name,
                "better": "lower" if signal.lower else "higher",
                "found": signal.found,
                "contrary": signal.contrary,
                "values": list(signal.scale.values),
                "scores": list(signal.scale.scores),
            }
            for signal in fusion.signals
        ],
        "models": [
            {
                "weight": model.weight,
                "intercept": model.intercept,
                "slopes": list(model.slopes),
                "floors": list(model.floors),
                "missing": list(model.missing),
            }
            for model in fusion.models
        ],
        "gains": [{**gain._asdict(), "says": gain.word} for gain in fusion.gains],
    }


def read_fusion(content: Mapping[str, Any]) -> SignalFusion:
    """Read a fusion back; what is none raises `ValueError`, `KeyError` or `TypeError`."""
    signals = tuple(
        FusedSignal(
            SignalScale(str(one["name"]), _floats(one["values"]), _floats(one["scores"])),
            lower={"lower": True, "higher": False}[one["better"]],
            found=bool(one["found"]),
            contrary=bool(one["contrary"]),
        )
        for one in content["signals"]
    )
    models = tuple(
        FusionModel(
            float(one["weight"]),
            float(one["intercept"]),
            _floats(one["slopes"]),
            _floats(one["floors"]),
            _floats(one["missing"]),
        )
        for one in content["models"]
    )
    lengths = {len(part) for model in models for part in model[2:]}
    if lengths != {len(signals)} or any(
        not scale.values or len(scale.values) != len(scale.scores) for scale, *_ in signals
    ):
        raise ValueError("the parts of a fusion do not fit together")
    gains = tuple(
        SignalGain(str(one["name"]), *(float(one[key]) for key in ("gain", "low", "high")))
        for one in content["gains"]
    )
    return SignalFusion(signals=signals, models=models, gains=gains)


def _floats(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(map(float, values))
