"""What a gate says it would need, beside what it does need: how many graded questions.

The need is simulated from a pool, and estimated from 200 rows of it, many times. Usage:
python -m validation.gate_needs [RUNS]
"""

import sys
from bisect import bisect_left
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from novarag.calibration.fit_gate import make_chains
from novarag.calibration.sample_size import estimate_sample_size
from validation.gate import SURE, Population, claim, population_of, tried

NEEDS = (
    ("mmlu:o4-mini-2025-04-16", 0.1), ("mmlu:o4-mini-2025-04-16", 0.2),
    ("mmlu:gemini-2.0-flash", 0.2), ("mmlu:Meta-Llama-3.1-405B-Instruct-Turbo", 0.2),
    ("mmlu:Phi-4-mini-reasoning", 0.2), ("rlcr:RLVR-Classifier", 0.2), ("mmlu:grok-2-1212", 0.2),
    ("sim:tuned", 0.2), ("sim:tuned", 0.1),
)  # fmt: skip


class NeedFound(NamedTuple):
    """What a need is: simulated, the middle estimate from 200 rows, how often the range holds it."""

    simulated: int
    about: float
    holds: float
    low: float
    high: float


def _seldom_refuses(population: Population, size: int, risk: float) -> bool:
    return tried(population, size, 400, risks=(risk,), seed=6)[risk].refused <= 0.2


def run_need(job: tuple[str, float, int]) -> NeedFound:
    """Look for the least number of rows with a gate in 80 % of draws, and estimate it from 200."""
    name, risk, pilots = job
    population = population_of(name)
    sizes = np.unique(np.geomspace(20, 20_000, 100).astype(int)).tolist()
    simulated = sizes[
        bisect_left(sizes, True, key=lambda size: _seldom_refuses(population, size, risk))
    ]
    found = []
    for run in range(pilots):
        graded = population.draw(np.random.default_rng([7, run]), 200)
        chains = make_chains(
            graded, graded.confidence, np.arange(200), state=None, rows="one", seed=run
        )
        need = estimate_sample_size(
            [(chains[0].counts, 1 - SURE)], total=200.0, risk=risk, seed=run
        )
        found.append([np.inf if end is None else end for end in need])
    about, low, high = np.array(found).T
    holds = float(((low <= simulated) & (simulated <= high)).mean())
    middle = [float(np.quantile(end, 0.5, method="lower")) for end in (about, low, high)]
    return NeedFound(simulated, middle[0], holds, middle[1], middle[2])


def _needs(found: list[NeedFound]) -> bool:
    for (name, risk), need in zip(NEEDS, found, strict=True):
        print(
            f"      {name} at {risk:.0%}: simulated {need.simulated:,}, about {need.about:,.0f}"
            f" ({need.low:,.0f} to {need.high:,.0f}), range holds it in {need.holds:.0%}"
        )
    near = sum(1 / 1.5 <= need.about / need.simulated <= 1.5 for need in found)
    holds = float(np.mean([need.holds for need in found]))
    one = claim(near >= 8, f"need within x1.5 in {near} of 9 cases from 200 rows")
    return claim(holds >= 0.85, f"range of the need holds it in {holds:.1%}, at least 85 %") and one


def main(runs: int) -> int:
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(run_need, [(name, risk, runs) for name, risk in NEEDS]))
    return 0 if _needs(found) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
