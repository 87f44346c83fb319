"""A calibration and a gate made up for tests of what uses them."""

from dataclasses import replace
from functools import cache

from novarag.calibration.calibration_file import score_name
from novarag.calibration.fit_calibration import FitStamp, fit
from novarag.calibration.gate import STATED, Gate, RowCounts
from novarag.calibration.graded_answers import AnswerSource
from tests.support.graded_answers import draw_graded

UNKNOWN = AnswerSource()


@cache
def calibration(source=UNKNOWN, signal=None):
    """A calibration of a respondent who boasts, most where passages conflict."""
    rows = draw_graded(240, boast=2.0, signal=signal is not None)
    rows = replace(rows, source=source, signal_name=signal)
    return fit(rows, stamp=FitStamp(date="2026-01-01", version="0"))


def gate(threshold, made=None, *, source=None, state=None):
    """A gate on the scores of a calibration, or on stated confidences; nothing certified it."""
    known = UNKNOWN if made is None else made.source
    return Gate(
        risk=0.1, confidence_level=0.9, threshold=threshold, state=state, share=0.5, errors=0.0,
        counted=RowCounts(100, 100, 100, 0, 10, 0, False), path=(), kept=(), least_risk=None,
        need=None, score=STATED if made is None else score_name(made), source=source or known,
    )  # fmt: skip
