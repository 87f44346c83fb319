"""A calibration as plain JSON values and back: the same bits, or an error that says what is off."""

from __future__ import annotations

from dataclasses import asdict, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson

from novarag.calibration.calibration import (
    STATED_BESIDE,
    Calibration,
    ConfidenceFigures,
    FitRecord,
    LevelShift,
    ObservedRange,
    StateLine,
    StateMap,
)
from novarag.calibration.gate import STATED
from novarag.calibration.graded_answers import AnswerSource
from novarag.calibration.reference import read_reference
from novarag.calibration.signal_fusion import fusion_json, read_fusion
from novarag.calibration.signal_scale import SignalScale
from novarag.errors import DataError, UsageError
from novarag.prose import say

if TYPE_CHECKING:
    from novarag.calibration.gate import Gate

KIND = "calibration 2"
"""What a file says it is; the number changes with the meaning of its fields."""

WITHOUT_REFERENCE = "calibration 1"
"""Files of before there was a reference: they are read, and nothing is known of drift."""

WITH_FUSION = "calibration 3"
"""Files of calibrations that fuse several signals."""

_KINDS = (WITHOUT_REFERENCE, KIND, WITH_FUSION)
NOT_JUDGED, NOT_SEEN = "(not judged)", "(not seen)"


def to_json(calibration: Calibration) -> dict[str, Any]:
    """Lay a calibration out as values of JSON, what a reader asks for first."""
    fitted = calibration.fitted
    if fitted is None:
        raise ValueError("a calibration without a word on what it was fitted on is not kept")
    maps = {_named(name): _map(one) for name, one in calibration.states.items()}
    scale = calibration.signal
    reference, fusion = calibration.reference, calibration.fusion
    return {
        "kind": _kind(calibration),
        "source": asdict(calibration.source),
        "fitted": {
            **{k: v for k, v in asdict(fitted).items() if (k, v) != ("beside", STATED_BESIDE)},
            "stated": fitted.stated._asdict(),
            "calibrated": fitted.calibrated._asdict(),
        },
        "seen": {_named(name): seen._asdict() for name, seen in calibration.seen.items()},
        "identity": calibration.identity,
        "quantile": calibration.quantile,
        "unseen_variance": calibration.unseen_variance,
        "signal": None if scale is None else scale._asdict(),
        "states": {**maps, NOT_SEEN: _map(calibration.unseen)},
        "levels": {
            _named(name): {str(percent): list(level) for percent, level in levels.items()}
            for name, levels in calibration.levels.items()
        },
        **({} if fusion is None else {"fusion": fusion_json(fusion)}),
        **({} if reference is None else {"reference": reference.to_json({"": NOT_JUDGED})}),
    }


def from_json(content: object, *, source: str) -> Calibration:
    """Read a calibration back; `source` is the file that errors name."""
    if not isinstance(content, dict) or content.get("kind") not in _KINDS:
        raise DataError(
            "this is not a calibration that this version reads.",
            hint=say("fit it again with `calibrate(...)`."),
            source=source,
        )
    try:
        return _read(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"a field of the calibration is missing or of the wrong kind ({error!r:.80}).",
            hint=say("fit it again with `calibrate(...)`."),
            source=source,
        ) from error


def _read(content: dict[str, Any]) -> Calibration:
    maps = {name: _read_map(one) for name, one in content["states"].items()}
    fitted = content["fitted"]
    scale = content["signal"]
    return Calibration(
        states={_unnamed(name): one for name, one in maps.items() if name != NOT_SEEN},
        unseen=maps[NOT_SEEN],
        identity=float(content["identity"]),
        levels={
            _unnamed(name): {int(p): LevelShift(*map(float, level)) for p, level in levels.items()}
            for name, levels in content["levels"].items()
        },
        unseen_variance=float(content["unseen_variance"]),
        quantile=float(content["quantile"]),
        seen={_unnamed(name): ObservedRange(**seen) for name, seen in content["seen"].items()},
        source=AnswerSource(**content["source"]),
        signal=None
        if scale is None
        else SignalScale(
            str(scale["name"]),
            tuple(map(float, scale["values"])),
            tuple(map(float, scale["scores"])),
        ),
        fitted=FitRecord(
            **fitted
            | {
                "stated": ConfidenceFigures(**fitted["stated"]),
                "calibrated": ConfidenceFigures(**fitted["calibrated"]),
                "remarks": tuple(map(str, fitted.get("remarks", ()))),
            }
        ),
        fusion=read_fusion(content["fusion"]) if content["kind"] == WITH_FUSION else None,
        reference=None
        if content["kind"] == WITHOUT_REFERENCE
        or (content["kind"] == WITH_FUSION and "reference" not in content)
        else read_reference(content["reference"], {NOT_JUDGED: ""}),
    )


def _kind(calibration: Calibration) -> str:
    if calibration.fusion is not None:
        return WITH_FUSION
    return WITHOUT_REFERENCE if calibration.reference is None else KIND


def score_name(calibration: Calibration | None) -> str:
    """Name the score that a gate is set on: stated, or the digest of a calibration."""
    if calibration is None:
        return STATED
    scoring = replace(calibration, reference=None)  # which changes no score
    content = orjson.dumps(to_json(scoring), option=orjson.OPT_SORT_KEYS)
    return sha256(content).hexdigest()[:16]


def check_score(gate: Gate, calibration: Calibration | None) -> None:
    """Refuse to let a gate decide on scores other than those it was set on."""
    if gate.score != score_name(calibration):
        wanted = "stated confidences" if gate.score == STATED else "another calibration"
        raise UsageError.saying(
            "the gate was set on {}: its promise holds for no other score. Give the `calibration`"
            " that it was set with, or set a gate for this one with `gate(...)`",
            wanted,
        )


def _map(one: StateMap) -> dict[str, Any]:
    return {
        "lines": [list(line) for line in one.lines],
        "mean": list(one.mean),
        "square": list(one.square),
    }


def _read_map(content: dict[str, Any]) -> StateMap:
    one, by_x, by_z = map(float, content["mean"])
    s00, s01, s02, s11, s12, s22 = map(float, content["square"])
    lines = (StateLine(*map(float, line)) for line in content["lines"])
    return StateMap(tuple(lines), (one, by_x, by_z), (s00, s01, s02, s11, s12, s22))


def _named(state: str) -> str:
    return state or NOT_JUDGED


def _unnamed(name: str) -> str:
    return "" if name == NOT_JUDGED else name
