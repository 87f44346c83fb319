"""Calibrations on pools whose truth is known, beside what others ship, on the same draws.

Usage: python -m validation.calibrations [--resamples 200] [--held-out] [--only FAMILY]

From each pool 30, 50, 100 or 500 graded answers are drawn with replacement; a calibration fitted on
them is scored on the whole pool, which is the truth. The 44 pools chose the rules. `--held-out`
scores the 63 models that chose nothing, once. A line ends in PASS or MISS where a figure was asked
for; two standard errors of slack are given, as said in the issue of record.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from novarag.calibration.fit_calibration import fit_rows
from novarag.calibration.graded_answers import AnswerSource, GradedAnswers
from tests.support.machine import described
from validation.pools import Pool, held_out, pools

SIZES = (30, 50, 100, 500)
BRIER = dict(zip(SIZES, (0.201, 0.196, 0.191, 0.1865), strict=True))
WORSE = dict(zip(SIZES, (0.015, 0.006, 0.003, 0.001), strict=True))
HONEST = "sim:tuned"
SHOWN = 44  # pools that chose the rules, of which mean figures were asked for
PRIOR = 0.01  # precision around the identity, in the fits of others
LEAST_ROWS = 100  # of a cell whose rate is taken as known


@dataclass(frozen=True)
class Cells:
    """A pool's distinct pairs of confidence and state, and how often each was right."""

    confidence: np.ndarray
    state: np.ndarray
    count: np.ndarray
    right: np.ndarray
    of_row: np.ndarray

    @classmethod
    def of(cls, pool: Pool) -> "Cells":
        pairs, back = np.unique(
            np.stack([pool.confidence, pool.state]), axis=1, return_inverse=True
        )
        back = back.ravel()
        return cls(
            pairs[0], pairs[1].astype(np.intp), np.bincount(back).astype(float),
            np.bincount(back, pool.correct).astype(float), back,
        )  # fmt: skip

    def brier(self, chance: np.ndarray) -> float:
        loss = self.right * (1 - chance) ** 2 + (self.count - self.right) * chance**2
        return float(loss.sum() / self.count.sum())

    def auroc(self, chance: np.ndarray) -> float:
        _, at = np.unique(np.round(chance, 9), return_inverse=True)
        right, wrong = np.bincount(at, self.right), np.bincount(at, self.count - self.right)
        below = np.cumsum(wrong) - wrong / 2
        return float((right * below).sum() / (right.sum() * wrong.sum()))

    def groups(self) -> list[np.ndarray]:
        """Cells of one state, neighbours joined until they hold enough rows to know their rate."""
        made: list[list[int]] = []
        for state in np.unique(self.state):
            held: list[int] = []
            first = len(made)
            for cell in np.flatnonzero(self.state == state):
                held.append(int(cell))
                if self.count[held].sum() >= LEAST_ROWS:
                    made.append(held)
                    held = []
            if held and len(made) > first:
                made[-1].extend(held)
        return [np.array(cells) for cells in made]


def logistic(columns: np.ndarray, y: np.ndarray, start: list[float]) -> np.ndarray:
    """Fit by Newton's steps, halved until they help; a faint prior keeps coefficients finite."""
    mean = at = np.asarray(start, dtype=float)

    def loss(b: np.ndarray) -> float:
        eta = columns @ b
        return float((np.logaddexp(0, eta) - y * eta).sum() + PRIOR / 2 * ((b - mean) ** 2).sum())

    for _ in range(50):
        p = expit(columns @ at)
        slope = columns.T @ (y - p) - PRIOR * (at - mean)
        curve = (columns * (p * (1 - p))[:, None]).T @ columns + PRIOR * np.eye(len(at))
        step = np.linalg.solve(curve, slope)
        while loss(at + step) > loss(at) and np.abs(step).max() > 1e-9:
            step = step / 2
        at = at + step
        if np.abs(step).max() < 1e-7:
            break
    return at


def others(c, s, y, to_c, to_s) -> dict[str, np.ndarray]:
    """What others ship, fitted on rows (c, s, y) and asked for the cells (to_c, to_s)."""
    clip = lambda v: np.clip(v, 0.02, 0.98)  # noqa: E731
    x, to_x = logit(clip(c)), logit(clip(to_c))
    one, to_one = np.ones_like(x), np.ones_like(to_x)
    heat = logistic(x[:, None], y, [1.0])
    platt = logistic(np.stack([one, x], 1), y, [0.0, 1.0])
    made = {
        "stated": to_c,
        "constant": np.full(to_c.size, (y.sum() + 1) / (y.size + 2)),
        "temperature": expit(to_x[:, None] @ heat),
        "Platt": expit(np.stack([to_one, to_x], 1) @ platt),
        "beta": _beta(clip(c), y, clip(to_c)),
        "isotonic": _isotonic(c, y, to_c),
        "histogram": _histogram(c, y, to_c),
    }
    by_state = np.empty_like(to_x)
    for state in np.unique(to_s):
        own = s == state
        line = platt if not own.any() else logistic(np.stack([one, x], 1)[own], y[own], [0, 1])
        by_state[to_s == state] = expit(np.stack([to_one, to_x], 1)[to_s == state] @ line)
    return made | {"Platt by state": by_state}


def _beta(c, y, to_c):
    """Beta calibration (Kull et al. 2017): a negative slope is set to zero and the rest refitted."""
    columns = lambda v: np.stack([np.ones_like(v), np.log(v), -np.log1p(-v)], 1)  # noqa: E731
    kept = [0, 1, 2]
    fit = logistic(columns(c)[:, kept], y, [0, 1, 1])
    while min(fit[1:], default=0) < 0:
        kept.pop(1 + int(np.argmin(fit[1:])))
        fit = logistic(columns(c)[:, kept], y, [0, *[1] * (len(kept) - 1)])
    return expit(columns(to_c)[:, kept] @ fit)


def _isotonic(c, y, to_c):
    from novarag.stats.isotonic import rising_fit

    level, at = np.unique(c, return_inverse=True)
    n = np.bincount(at).astype(float)
    return np.interp(to_c, level, rising_fit(np.bincount(at, y) / n, n))


def _histogram(c, y, to_c, bins=10):
    at, to_at = (np.minimum((v * bins + 1e-9).astype(int), bins - 1) for v in (c, to_c))
    n = np.bincount(at, minlength=bins)
    right = np.bincount(at, y, minlength=bins)
    return np.where(n[to_at] > 0, right[to_at] / np.maximum(n[to_at], 1), to_c)


def score_pool(name: str, pool: Pool, resamples: int, found: dict) -> None:
    """Draw from one pool, fit everything, and add up the figures."""
    cells = Cells.of(pool)
    states = [f"state {s}" for s in range(int(cells.state.max()) + 1)]
    asked = [states[s] for s in cells.state]
    alone, order = cells.brier(cells.confidence), cells.auroc(cells.confidence)
    groups = cells.groups()
    share = np.array([cells.count[g].sum() for g in groups])
    truth = np.array([cells.right[g].sum() / cells.count[g].sum() for g in groups])
    rng = np.random.default_rng([2026, *name.encode()])
    for n in SIZES:
        for _ in range(resamples):
            rows = rng.integers(0, len(pool), n)
            graded = GradedAnswers(
                confidence=pool.confidence[rows], correct=pool.correct[rows].astype(bool),
                question=np.arange(n), state=pool.state[rows].astype(np.intp),
                states=tuple(states), source=AnswerSource(),
            )  # fmt: skip
            made = fit_rows(graded).apply(cells.confidence, asked)
            y = pool.correct[rows].astype(float)
            all_made = {"ours": made.probability} | others(
                pool.confidence[rows], pool.state[rows], y, cells.confidence, cells.state
            )
            for method, chance in all_made.items():
                brier = cells.brier(chance)
                found[method, n, name].append(
                    (brier, brier > alone + 0.002, cells.auroc(chance) - order)
                )
            low, high = (
                np.array([np.average(end[g], weights=cells.count[g]) for g in groups])
                for end in (made.low, made.high)
            )
            held = np.average((low <= truth) & (truth <= high), weights=share)
            found["interval", n, name].append((held, np.average(high - low, weights=share)))
    found["alone", 0, name].append((alone,))


def judge(label: str, value: float, limit: float, slack: float, *, most: bool = True) -> bool:
    """Print a figure beside what was asked for, and say whether it is met."""
    met = value <= limit + 2 * slack if most else value >= limit - 2 * slack
    print(f"  {label}: {value:.4f} (asked {'<=' if most else '>='} {limit:g}, standard error"
          f" {slack:.4f}) {'PASS' if met else 'MISS'}")  # fmt: skip
    return met


def report(found: dict, names: list[str]) -> bool:
    """Print the table and the judged figures; return whether all were met."""
    methods = list(dict.fromkeys(m for m, n, _ in found if n and m != "interval"))
    print("\nmean over pools: Brier / AUROC above stated / % of fits worse than nothing by .002")
    for method in methods:
        line = [f"{method:15}"]
        for n in SIZES:
            mean = np.mean([np.mean(found[method, n, name], axis=0) for name in names], axis=0)
            line.append(f"n={n}: {mean[0]:.4f} / {mean[2]:+.3f} / {100 * mean[1]:4.1f}")
        print("  ".join(line))
    print("\nfigures asked for")
    met = [*_scores(found, names), *_intervals(found, names)]
    if HONEST in names:
        drawn = [row[0] for row in found["ours", 100, HONEST]]
        above = float(np.mean(drawn)) - found["alone", 0, HONEST][0][0]
        error = float(np.std(drawn)) / len(drawn) ** 0.5
        met.append(judge("honest respondent, n=100, Brier above stated", above, 0.001, error))
    return all(met)


def _mean(found: dict, key: str, n: int, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over pools of each figure, and its standard error over the draws."""
    draws = [np.array(found[key, n, name], dtype=float) for name in names]
    spread = np.sqrt(sum(d.var(axis=0) / len(d) for d in draws)) / len(names)
    return np.mean([d.mean(axis=0) for d in draws], axis=0), spread


def _scores(found: dict, names: list[str]) -> Iterator[bool]:
    for n in SIZES:
        (brier, worse, order), error = _mean(found, "ours", n, names)
        if len(names) == SHOWN:
            yield judge(f"n={n} mean Brier", brier, BRIER[n], error[0])
        yield judge(f"n={n} worse than nothing", worse, WORSE[n], error[1])
        if n >= 50:
            yield judge(f"n={n} AUROC above stated", order, -0.002, error[2], most=False)


def _intervals(found: dict, names: list[str]) -> Iterator[bool]:
    for family in dict.fromkeys(name.split(":")[0] for name in names):
        own = [name for name in names if name.startswith(family + ":")]
        for n in SIZES:
            (held, width), error = _mean(found, "interval", n, own)
            label = f"{family} n={n} intervals (width {width:.2f}) hold"
            yield judge(label, held, 0.88, error[0], most=False)
            yield judge(label, held, 0.98, error[0])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    chosen = held_out() if given.held_out else pools()
    chosen = {name: pool for name, pool in chosen.items() if name.startswith(given.only)}
    print(f"{len(chosen)} pools, {given.resamples} resamples; {described()}")
    begun = time.process_time()
    found: dict = defaultdict(list)
    for name, pool in chosen.items():
        score_pool(name, pool, given.resamples, found)
        print(f"{name}: {time.process_time() - begun:.0f} CPU-s", file=sys.stderr, flush=True)
    met = report(found, list(chosen))
    print(f"\n{time.process_time() - begun:.0f} CPU-s")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
