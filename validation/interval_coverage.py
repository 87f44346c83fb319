"""Do the statistics hold? Simulated respondents with known calibration, measured many times.

Prints how often 95 % intervals cover the truth, and how often the ECE of a perfectly calibrated
respondent stays under the printed noise floor. Usage: python -m validation.interval_coverage [RUNS]
"""

import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import polars as pl

from novarag.metrics import METRICS, measure_table
from novarag.metrics.tally import Tally

LEVELS = np.array([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
SHARE = np.array([1, 1, 1, 1, 2, 2, 3, 4, 6, 4]) / 25
CHECKED = ("accuracy", "brier", "auroc", "aurc", "ece")


def simulate(rng, questions, samples, over):
    """Answers whose chance of being right is the level minus `over`; samples share their level."""
    level = rng.choice(10, questions, p=SHARE)
    at = np.repeat(level, samples)
    chance = np.clip(LEVELS - over, 0.01, 0.99)[at]
    luck = np.repeat(rng.random(questions), samples)
    own = rng.random(at.size)
    shared = np.repeat(rng.random(questions) < 0.5, samples)
    right = np.where(shared, luck, own) < chance
    names = np.repeat(np.arange(questions), samples)
    return pl.DataFrame({"question": names, "confidence": LEVELS[at], "correct": right})


def truth(over):
    chance = np.clip(LEVELS - over, 0.01, 0.99)
    big = Tally(LEVELS, 1e9 * SHARE * chance, 1e9 * SHARE * (1 - chance))
    return {name: float(METRICS[name].of(big)) for name in CHECKED}


def one_run(job):
    """Measure one simulated table; say which intervals cover."""
    run, questions, samples, over = job
    known = truth(over)
    table = simulate(np.random.default_rng([7, run]), questions, samples, over)
    panel = measure_table(table, replicates=1000, seed=run).overall
    figures = panel.figures
    hits = [figures[name].low <= known[name] <= figures[name].high for name in CHECKED]
    return [*hits, figures["ece"].value <= panel.floor.line]


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{runs} runs each, 1,000 replicates; a cell is the share of 95 % intervals that cover")
    print(f"{'respondent':44}" + "".join(f"{name:>10}" for name in CHECKED) + "  ECE under floor")
    with ProcessPoolExecutor() as pool:
        for over in (0.0, 0.05, 0.15, 0.3):
            for questions, samples in ((400, 1), (200, 4)):
                jobs = [(run, questions, samples, over) for run in range(runs)]
                share = np.mean(list(pool.map(one_run, jobs, chunksize=10)), axis=0)
                label = f"over by {100 * over:.0f} points, {questions} questions x {samples}"
                print(f"{label:44}" + "".join(f"{cell:10.3f}" for cell in share), flush=True)
