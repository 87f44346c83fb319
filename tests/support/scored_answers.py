"""Graded answers with scores and without a stated confidence, some of which tell right from wrong."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from novarag.calibration.graded_answers import AnswerSource, GradedAnswers, SignalTable

NAMES = ("judge", "distance", "noise")


def draw_scored(
    n: int, *, seed: int = 0, missing: float = 0.0, stated: bool = False, rows: int = 1
) -> GradedAnswers:
    """Draw answers with a judge's mark in thousands, a distance (lower is better), and noise.

    `missing` is the share of cells that are empty; `rows` belong to each question.
    """
    rng = np.random.default_rng(seed)
    quality = np.repeat(rng.normal(size=n // rows), rows)
    judge = 1000 + 300 * (quality + 0.8 * rng.normal(size=quality.size))
    distance = np.exp(-quality + 0.8 * rng.normal(size=quality.size))
    values = np.stack([judge, distance, rng.standard_cauchy(quality.size)], axis=1)
    values[rng.random(values.shape) < missing] = np.nan
    confidence = np.full(quality.size, 0.5)
    if stated:
        confidence = np.clip(expit(quality + rng.normal(size=quality.size)).round(2), 0.02, 0.98)
    return GradedAnswers(
        confidence=confidence,
        correct=rng.random(quality.size) < expit(0.5 + 2 * quality),
        question=np.arange(quality.size) // rows,
        state=np.full(quality.size, -1, dtype=np.intp),
        source=AnswerSource(model="m"),
        digest=f"scored {seed}",
        question_ids=tuple(f"s{seed}-{i}" for i in range(quality.size // rows)),
        scores=SignalTable(NAMES, values, (None, None, None)),
        states_confidence=stated,
    )
