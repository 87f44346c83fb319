"""Graded answers of respondents whose true chances are known."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from novarag.calibration.graded_answers import AnswerSource, GradedAnswers

STATES = ("conflicting", "consistent", "insufficient")
LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0])


def draw_graded(
    n: int, *, seed: int = 0, boast: float = 1.0, signal: bool = False
) -> GradedAnswers:
    """Draw answers of a respondent who boasts by so much log-odds, more where passages conflict."""
    rng = np.random.default_rng(seed)
    state = rng.integers(0, len(STATES), n)
    confidence = rng.choice(LEVELS, n)
    hidden = rng.normal(size=n)
    gap = boast * np.array([1.5, 0.5, 1.0])[state]
    chance = expit(logit(np.clip(confidence, 0.02, 0.98)) - gap + signal * hidden)
    return GradedAnswers(
        confidence=confidence,
        correct=rng.random(n) < chance,
        question=np.arange(n),
        state=state.astype(np.intp),
        states=STATES,
        signal=hidden if signal else None,
        signal_name="likelihood" if signal else None,
        source=AnswerSource(model="m"),
        digest="d",
        question_ids=tuple(f"q{seed}-{i}" for i in range(n)),
    )
