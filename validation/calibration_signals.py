"""What one more signal adds to a calibration, on pools that have one.

Usage: python -m validation.calibration_signals [--resamples 40]

Sequence probability (`verb`), perplexity (`mmlu`) and self-frequency of five samples (`sim`). Fits
with and without the signal see the same draws and are scored on 2,500 other answers of the pool.
"""

import argparse
import sys

import numpy as np

from novarag.calibration.fit_calibration import fit_rows, score_confidences
from novarag.calibration.graded_answers import AnswerSource, GradedAnswers
from tests.support.machine import described
from validation.pools import Pool, pools

SIZES = (50, 100, 500)
ASKED = 2500


def draw(pool: Pool, rows: np.ndarray, *, signal: bool) -> GradedAnswers:
    """Take rows of a pool, with or without their signal."""
    return GradedAnswers(
        confidence=pool.confidence[rows], correct=pool.correct[rows].astype(bool),
        question=np.arange(rows.size), state=pool.state[rows].astype(np.intp),
        states=("0", "1", "2"), signal=pool.signal[rows] if signal else None,
        signal_name="signal", source=AnswerSource(),
    )  # fmt: skip


def compare(pool: Pool, n: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Return Brier and AUROC without and with the signal, a row a draw."""
    found = []
    for _ in range(resamples):
        order = rng.permutation(len(pool))
        drawn, asked = order[:n], order[n : n + ASKED]
        states = [str(s) for s in pool.state[asked]]
        right, ones = pool.correct[asked].astype(bool), np.ones(asked.size)
        row = []
        for signal in (False, True):
            made = fit_rows(draw(pool, drawn, signal=signal)).apply(
                pool.confidence[asked], states, pool.signal[asked] if signal else None
            )
            figures = score_confidences(made.probability, right, ones)
            row += [figures.brier, figures.auroc]
        found.append(row)
    return np.array(found)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--resamples", type=int, default=40)
    resamples = parser.parse_args().resamples
    chosen = {n: p for n, p in pools().items() if np.isfinite(p.signal).mean() > 0.5}
    print(f"{len(chosen)} pools with a signal, {resamples} resamples; {described()}")
    failed, mean = [], {n: [] for n in SIZES}
    for name, pool in chosen.items():
        rng, line = np.random.default_rng([19, *name.encode()]), [f"{name[:40]:40}"]
        for n in SIZES:
            found = compare(pool, n, resamples, rng)
            b0, a0, b1, a1 = found.mean(axis=0)
            error = (found[:, 2] - found[:, 0]).std() / resamples**0.5
            mean[n].append((b0, a0, b1, a1))
            missed = n >= 100 and b1 - b0 > 0.002 + 2 * error
            failed += [f"{name} n={n}"] if missed else []
            line.append(
                f"n={n}: {b0:.4f} -> {b1:.4f}, {a0:.3f} -> {a1:.3f}{' MISS' if missed else ''}"
            )
        print("  ".join(line), flush=True)
    for n in SIZES:
        b0, a0, b1, a1 = np.mean(mean[n], axis=0)
        print(f"mean, n={n}: Brier {b0:.4f} -> {b1:.4f}, AUROC {a0:.3f} -> {a1:.3f}")
    print(f"worse by more than .002 at n >= 100: {', '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
