"""Does a perfectly calibrated respondent stay under the printed noise floor 95 % of the time?

Usage: python -m validation.floor_coverage [RUNS]
"""

import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from novarag.metrics import METRICS, noise_floor
from novarag.metrics.tally import make_rows
from validation.interval_coverage import LEVELS, SHARE


def under(job):
    """Measure one perfectly calibrated respondent."""
    run, questions = job
    rng = np.random.default_rng([11, run, questions])
    stated = LEVELS[rng.choice(LEVELS.size, questions, p=SHARE)]
    rows = make_rows(stated, rng.random(questions) < stated, np.arange(questions))
    return float(METRICS["ece"].of(rows.tally())) <= noise_floor(rows, seed=run).line


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with ProcessPoolExecutor() as pool:
        for questions in (150, 400, 745):
            jobs = [(run, questions) for run in range(runs)]
            share = np.mean(list(pool.map(under, jobs, chunksize=50)))
            print(f"{questions} questions, {runs:,} runs: {share:.4f} under the line", flush=True)
