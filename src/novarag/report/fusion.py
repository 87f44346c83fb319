"""What a fusion of signals is, in words: directions, what each adds, which to drop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.calibration.signal_fusion import FusedSignal, SignalFusion

_LONGEST = 60  # characters of a signal's name


def shown_name(name: str) -> str:
    """Return the name of a signal as it is shown, which may be anybody's text."""
    return plain_text(name, longest=_LONGEST)


def way_of(signal: FusedSignal) -> str:
    """Say which way a signal is better, and how that is known."""
    way = "lower" if signal.lower else "higher"
    known = "as found" if signal.found else "as was said"
    return f"{way} is better, {known}"


def fusion_notes(fusion: SignalFusion) -> list[str]:
    """Say which way each signal is better, what it adds, and which to drop."""
    ways = "; ".join(f"{shown_name(signal.name)!r}: {way_of(signal)}" for signal in fusion.signals)
    lines = [f"Directions of the signals: {ways}."]
    contrary = [shown_name(signal.name) for signal in fusion.signals if signal.contrary]
    if contrary:
        lines.append(
            f"The graded answers say the opposite of what was said of {_names(contrary)}: look"
            " whether the direction was meant."
        )
    if fusion.gains:
        added = "; ".join(
            f"{shown_name(gain.name)!r} {gain.gain:+.4f} ({gain.low:+.4f} to {gain.high:+.4f})"
            for gain in fusion.gains
        )
        lines.append(
            "What each signal adds beside the others, as a gain of the Brier score on questions not"
            f" seen (95 % interval): {added}."
        )
    idle = [shown_name(gain.name) for gain in fusion.gains if gain.gain <= 0]
    if idle and len(idle) < len(fusion.gains):
        lines.append(f"Drop {_names(idle)}: nothing is gained by it here.")
    return lines


def _names(names: list[str]) -> str:
    return ", ".join(map(repr, names))
