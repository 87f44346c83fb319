"""A calibration and a gate made up for tests of what uses them."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

from novarag.calibration.fitting import Stamp, fit
from novarag.calibration.graded import Source
from tests.support.graded_answers import draw_graded

UNKNOWN = Source()


@cache
def calibration(source=UNKNOWN, signal=None):
    """A calibration of a respondent who boasts, most where passages conflict."""
    rows = draw_graded(240, boast=2.0, signal=signal is not None)
    rows = replace(rows, source=source, signal_name=signal)
    return fit(rows, stamp=Stamp(date="2026-01-01", version="0"))


def gate(made, threshold):
    """A stand-in."""
    return SimpleNamespace(
        decide=lambda score, state=None: SimpleNamespace(
            answer=score >= threshold, reason=f"{score:.1%} in {state}"
        )
    )
