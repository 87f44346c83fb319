"""What picked rows are worth beside random ones, and whether their weights keep figures unbiased.

In each pool 100 rows are picked as `novarag grading pick` does, and 70 to 280 are drawn at random. From
the random ones follows how an interval's width falls with rows, and so how many random rows the
100 picked replace: for the calibration's intervals, as the mean over the log's rows, in the state
where they are widest, and as the mean and widest over kinds of answers (state and band) alike; for
the log's accuracy and Brier score, by their standard error over draws. Usage:
python -m validation.picking [--draws 1000] [--fits 60] [--spread 0.3] [--only sim]
"""

import argparse
import sys

import numpy as np

from novarag.calibration.fit_calibration import fit_rows
from novarag.calibration.graded_answers import GradedAnswers
from novarag.calibration.pick_rows import pick_rows
from novarag.defaults import PICK
from validation.pools import Pool, pools

N = 100
RANDOM = (70, 100, 140, 200, 280)
STATES = "abc"
EDGES = (0.5, 0.7, 0.85, 0.925)
MEASURES = ("log", "state", "kinds", "kind", "accuracy", "brier")
WORST_BIAS = 3.0  # standard errors


def kinds_of(pool: Pool) -> np.ndarray:
    """Number the kinds of answers: state and one of five bands of confidence."""
    kind = pool.state * 10 + np.digitize(pool.confidence, EDGES)
    return np.unique(kind, return_inverse=True)[1]


def widths(pool: Pool, rows: np.ndarray, kind: np.ndarray) -> tuple[float, ...]:
    """Fit a calibration on rows, and return the widths of its intervals over the whole pool."""
    graded = GradedAnswers(
        confidence=pool.confidence[rows],
        correct=pool.correct[rows].astype(bool),
        question=np.arange(rows.size),
        state=pool.state[rows],
        states=tuple(STATES),
    )
    made = fit_rows(graded).apply(pool.confidence, [STATES[s] for s in pool.state])
    width = made.high - made.low
    states = np.bincount(pool.state, width) / np.bincount(pool.state)
    kinds = np.bincount(kind, width) / np.bincount(kind)
    return width.mean(), states.max(), kinds.mean(), kinds.max()


def picked(pool: Pool, seed: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Pick as `novarag grading pick` does; return rows and weights."""
    found = pick_rows(
        pool.confidence, pool.state, np.arange(len(pool)), n=N, seed=seed, spread=spread
    )
    return found.rows, found.weight


def equivalents(pool: Pool, fits: int, spread: float) -> list[float]:
    """Say how many random rows replace the picked ones, for each measure of the calibration."""
    rng, kind = np.random.default_rng(0), kinds_of(pool)
    random = [
        np.mean(
            [widths(pool, rng.choice(len(pool), n, replace=False), kind) for _ in range(fits)], 0
        )
        for n in RANDOM
    ]
    ours = np.mean([widths(pool, picked(pool, seed, spread)[0], kind) for seed in range(fits)], 0)
    lines = np.polyfit(np.log(RANDOM), np.log(random), 1)
    return np.exp((np.log(ours) - lines[1]) / lines[0]).tolist()


def weighted(pool: Pool, draws: int, spread: float) -> tuple[list[float], float]:
    """Return what the picks are worth for accuracy and Brier score, and the worst bias in SE."""
    right = pool.correct.astype(float)
    truth = np.stack([right, (pool.confidence - right) ** 2])
    found = np.empty((draws, 2))
    for seed in range(draws):
        rows, weight = picked(pool, seed, spread)
        found[seed] = truth[:, rows] @ weight / weight.sum()
    error = found.std(0)
    bias = np.abs(found.mean(0) - truth.mean(1)) / (error / np.sqrt(draws))
    alone = truth.var(1) * (1 - N / len(pool))
    return (alone / error**2).tolist(), float(bias.max())


def main() -> int:
    """Print the table, and return 1 where a weighted figure is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--fits", type=int, default=60)
    parser.add_argument("--spread", type=float, default=PICK.spread)
    parser.add_argument("--only", default="", help="beginnings of pools' names, with commas")
    args = parser.parse_args()
    print(f"random rows that {N} picked replace, spread {args.spread}; bias in standard errors")
    print(f"{'':44}{''.join(f'{name:>10}' for name in MEASURES)}      bias")
    table, worst = {}, {}
    for name, pool in pools().items():
        if name.startswith(tuple(args.only.split(","))):
            worth, worst[name] = weighted(pool, args.draws, args.spread)
            table[name] = [*equivalents(pool, args.fits, args.spread), *worth]
            cells = "".join(f"{value:10.0f}" for value in table[name])
            print(f"{name:44}{cells}{worst[name]:10.2f}", flush=True)
    for family in dict.fromkeys(name.partition(":")[0] for name in table):
        own = [row for name, row in table.items() if name.startswith(family)]
        print(f"{'mean of ' + family:44}{''.join(f'{v:10.0f}' for v in np.mean(own, 0))}")
    # of twice as many figures as pools the largest may pass 3 standard errors by luck once
    off = [name for name, bias in worst.items() if bias > WORST_BIAS]
    print(f"weighted figures off by more than {WORST_BIAS:g} standard errors: {len(off)} {off}")
    return int(len(off) > len(worst) * 0.05)


if __name__ == "__main__":
    sys.exit(main())
