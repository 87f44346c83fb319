"""Does a gate keep its promise on rows that `novarag grading pick` chose, and how much does it keep?

In each pool, and in the hardest case (every answer wrong a little more often than the risk), rows
are picked and gates set on them, again and again. A promise is broken where the threshold has a
true error over the risk; at 90 % that may happen in 10 % of draws. Usage:
python -m validation.picked_gates [--draws 1000] [--size 100]
"""

import argparse
import sys
from math import sqrt

import numpy as np

from novarag.calibration.fit_gate import choose, chosen_rows, make_chains
from novarag.calibration.graded_answers import GradedAnswers
from novarag.calibration.pick_rows import pick_rows
from validation.gate import RISKS, SURE, TEN
from validation.pools import Pool, pools

WORSE = 0.0005
UNREAD = 0.05


def flat(risk: float, rows: int = 20_000, levels: int = 20) -> Pool:
    """Return answers that are wrong a little too often at every confidence, in three states."""
    rng = np.random.default_rng(0)
    confidence = rng.integers(1, levels + 1, rows) / levels
    wrong = np.zeros(rows, dtype=np.int64)
    for level in np.unique(confidence):
        own = np.flatnonzero(confidence == level)
        wrong[rng.choice(own, int(np.ceil((risk + WORSE) * own.size)), replace=False)] = 1
    state = rng.choice(3, rows, p=[0.1, 0.6, 0.3])
    return Pool(confidence, state, 1 - wrong, np.full(rows, np.nan))


def drawn(pool: Pool, size: int, seed: int, *, picked: bool) -> GradedAnswers:
    """Pick rows, or draw them at random; one reply in twenty could not be read."""
    rng = np.random.default_rng([seed, 3])
    confidence = np.where(rng.random(len(pool)) < UNREAD, np.nan, pool.confidence)
    if picked:
        found = pick_rows(confidence, pool.state, np.arange(len(pool)), n=size, seed=seed)
        rows = np.concatenate([found.rows, found.unread])
        weight = np.append(found.weight, np.full(found.unread.size, found.unread_weight))
    else:
        rows, weight = rng.choice(len(pool), size, replace=False), None
    return GradedAnswers(
        confidence=confidence[rows],
        correct=pool.correct[rows].astype(bool),
        question=np.arange(rows.size),
        state=pool.state[rows],
        states=tuple("abc"),
        weight=weight,
    )


def tried(pool: Pool, size: int, draws: int, risks: tuple[float, ...], *, picked: bool) -> dict:
    """Return for each risk how often the promise was broken, and the share kept."""
    found = {risk: [] for risk in risks}
    for seed in range(draws):
        graded = drawn(pool, size, seed, picked=picked)
        chosen = chosen_rows(graded, "one", seed)[1]
        chains = make_chains(graded, graded.confidence, chosen, state=None, rows="one", seed=seed)
        for risk in risks:
            best = choose(chains, risk, SURE)
            over = np.zeros(len(pool), dtype=bool)
            if best is not None:
                over = pool.confidence >= best.chain.counts.threshold[best.at] - 1e-9
            broken = over.any() and 1 - pool.correct[over].mean() > risk
            found[risk].append((broken, over.mean()))
    return {risk: np.mean(rows, 0) for risk, rows in found.items()}


def main() -> int:
    """Print the table, and return 1 where a promise is broken too often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--size", type=int, default=100)
    args = parser.parse_args()
    limit, worst = 0.1 + 2 * sqrt(0.1 * 0.9 / args.draws), 0.0
    print(f"{args.size} rows: promise broken, and share kept by picked and by random rows")
    held = pools()
    for name in TEN:
        picked, random = (
            tried(held[name], args.size, args.draws, RISKS, picked=p) for p in (True, False)
        )
        worst = max(worst, *(broken for broken, _ in picked.values()))
        cells = (f"{picked[r][0]:.3f} {picked[r][1]:.2f}/{random[r][1]:.2f}" for r in RISKS)
        print(f"{name:46}{'   '.join(cells)}", flush=True)
    for risk in RISKS:
        broken, _ = tried(flat(risk), args.size, args.draws, (risk,), picked=True)[risk]
        worst = max(worst, broken)
        print(f"{f'flat at {risk}':46}{broken:.3f}", flush=True)
    print(f"worst {worst:.3f}, limit {limit:.3f}")
    return int(worst > limit)


if __name__ == "__main__":
    sys.exit(main())
