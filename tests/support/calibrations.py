"""Calibrations of made-up answers, for gateways in tests."""

import numpy as np

from novarag.calibration.fit_calibration import FitStamp, fit
from novarag.calibration.graded_answers import AnswerSource, GradedAnswers
from novarag.flows.calibrate import save_calibration
from novarag.strategies import STRATEGIES

NOVA = STRATEGIES["nova"].template.hash


def graded_rows(n=120, *, seed=0, model="llama", prompt=NOVA, worth=0.8):
    """Draw graded answers that are right at a part of what they state."""
    rng = np.random.default_rng(seed)
    confidence = rng.choice([0.6, 0.8, 0.9, 1.0], size=n, p=[0.2, 0.2, 0.4, 0.2])
    return GradedAnswers(
        confidence=confidence,
        correct=rng.random(n) < worth * confidence,
        question=np.arange(n),
        state=rng.choice(3, size=n, p=[0.2, 0.6, 0.2]),
        states=("conflicting", "consistent", "insufficient"),
        question_ids=tuple(f"{seed}-{i}" for i in range(n)),
        digest=f"made up {seed}",
        source=AnswerSource(model=model, prompt=prompt),
    )


def write_calibration(path, **more):
    """Fit a calibration on made-up answers and keep it in a file; return it."""
    made = fit(graded_rows(**more), stamp=FitStamp(date="2026-01-01", version="1"))
    save_calibration(made, path)
    return made
