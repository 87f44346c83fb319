"""Who answers, held against whose answers a calibration and a gate were made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.calibration.graded_answers import UNKNOWN
from novarag.calls import simulated_note
from novarag.errors import UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.calibration.graded_answers import AnswerSource


def source_notes(
    source: AnswerSource,
    calibration: Calibration | None,
    gate: Gate | None,
    *,
    by_stated: bool,
    other_source: bool,
) -> tuple[str, ...]:
    """Say what is to be known of who answers with these parts, or refuse parts of another."""
    notes = simulated_note(source.model)
    for made_from, what in _parts(calibration, gate).items():
        differs = made_from.differs_from(source)
        if differs is None:
            notes += _unknown_notes(made_from, source, what)
            continue
        said = (
            f"the {what} made from answers of another {differs}"
            f" ({_short(made_from, differs)}, not {_short(source, differs)})"
        )
        if not other_source:
            raise UsageError.saying(
                "{}; make it from answers of this {}, or pass `other_source=True`", said, differs
            )
        notes.append(said)
    if by_stated and calibration is not None:
        notes.append("the gate was set on stated confidences, and decides by them")
    return tuple(notes)


def _parts(calibration: Calibration | None, gate: Gate | None) -> dict[AnswerSource, str]:
    """Name the parts by what they were made from, with their verb."""
    if calibration is not None and gate is not None and calibration.source == gate.source:
        return {gate.source: "calibration and the gate were"}
    parts = {} if calibration is None else {calibration.source: "calibration was"}
    return parts if gate is None else {**parts, gate.source: "gate was"}


def _unknown_notes(made_from: AnswerSource, source: AnswerSource, what: str) -> list[str]:
    """Say what could not be compared because one side does not name it."""
    notes = []
    missing = [name for name in ("model", "prompt") if getattr(made_from, name) == UNKNOWN]
    if missing:
        notes.append(f"the {what} made from answers of an unknown {' and '.join(missing)}")
    if source.model == UNKNOWN != made_from.model:
        model = _short(made_from, "model")
        notes.append(f"the {what} made from answers of {model}; this model has no name")
    return notes


def _short(source: AnswerSource, name: str) -> str:
    """Show a model's name, or the first digits of a prompt's hash."""
    value = str(getattr(source, name))
    return plain_text(value[:12] if name == "prompt" else value, longest=60)
