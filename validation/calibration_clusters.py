"""Do intervals hold where each question has five rows? Questions of a simulated respondent.

Usage: python -m validation.calibration_clusters [--resamples 300]
"""

import argparse
import sys

import numpy as np

from novarag.calibration.fit_calibration import fit_rows
from novarag.calibration.graded_answers import AnswerSource, GradedAnswers
from tests.support.machine import described
from validation.pools import clustered

ROWS = 5
SIZES = (30, 50, 100, 200)
LEAST = 100


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--resamples", type=int, default=300)
    resamples = parser.parse_args().resamples
    pool = clustered()
    questions, all_correct = len(pool), pool.correct.ravel()
    level, at = np.unique(pool.confidence.ravel(), return_inverse=True)
    count = np.bincount(at.ravel())
    known = count >= LEAST
    truth = (np.bincount(at.ravel(), all_correct) / count)[known]
    share = count[known]
    rng, failed = np.random.default_rng(1), False
    print(f"{questions:,} questions x {ROWS} rows, {resamples} resamples; {described()}")
    for n in SIZES:
        held, naive = [], []
        for _ in range(resamples):
            drawn = rng.integers(0, questions, n)
            stated, right = pool.confidence[drawn].ravel(), pool.correct[drawn].ravel().astype(bool)
            for kept, question in (
                (held, np.repeat(np.arange(n), ROWS)),
                (naive, np.arange(stated.size)),
            ):
                made = fit_rows(GradedAnswers(
                    confidence=stated, correct=right,
                    question=question, state=np.full(stated.size, -1, dtype=np.intp), source=AnswerSource(),
                )).apply(level[known])  # fmt: skip
                inside = (made.low <= truth) & (truth <= made.high)
                kept.append(np.average(inside, weights=share))
        error = np.std(held) / resamples**0.5
        met = np.mean(held) >= 0.88 - 2 * error
        failed |= not met
        print(f"{n} questions: 90 % intervals hold {np.mean(held):.3f} (asked >= .88)"
              f" {'PASS' if met else 'MISS'}; rows as independent {np.mean(naive):.3f}")  # fmt: skip
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
