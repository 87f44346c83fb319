"""Does the chain measure the truth? A respondent with known truth, asked and measured many times.

At the paper's sizes, every method is put to simulated respondents through the real chain: render,
reply, read, grade, method, measure with a bootstrap over questions. Every seed draws questions and
their luck anew. The truth of a metric is its value on the answers of all seeds together. Prints how
often 95 % intervals hold it.

Usage: python -m validation.chain_coverage [--seeds 200] [--folder build/coverage] [--again] [--write]
Answers are kept: a run that was cut off goes on, and measuring alone can be repeated when an
interval was mended. `--write` records the summary in docs/evidence/simulated.md and every cell in
docs/evidence/coverage.csv.
"""

import argparse
import csv
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from novarag.flows.estimate import estimate
from novarag.llm.simulated import open_simulated
from novarag.metrics import METRICS, measure_table
from novarag.rows import tabulate
from novarag.strategies import VANILLA
from novarag.uncertainty import METHODS
from tests.support.machine import described
from tests.support.paper_sizes import SIZES, make_groups

CHECKED = ("accuracy", "overconfidence", "brier", "ece", "auroc", "aurc")
_NEEDED = {*CHECKED, "mean_confidence"}
REPLICATES = 400
PAGE = Path(__file__).parents[1] / "docs/evidence/simulated.md"
CELLS_FILE = PAGE.with_name("coverage.csv")
BEGIN, END = "<!-- coverage -->", "<!-- end of coverage -->"
CELLS = [("tuned", name) for name in SIZES]


def shorten():
    """Cut the table of metrics short, to save time; all else is as it ships."""
    for name in set(METRICS) - _NEEDED:
        del METRICS[name]


def place(folder, respondent, name, seed):
    return Path(folder) / f"{respondent}-{name}-{seed:04}.parquet"


def ask(job):
    """Put every method to one respondent once, and keep the answers."""
    folder, respondent, name, seed = job
    out = place(folder, respondent, name, seed)
    if out.exists():
        return
    groups = make_groups(name, seed)
    llm = open_simulated(respondent, groups, seed=seed)
    found = estimate(groups, VANILLA, llm)
    columns = ("question", "group", "confidence", "correct")
    tables = [
        tabulate(trials).select(*columns).with_columns(method=pl.lit(method))
        for method, trials in found.trials.items()
    ]
    pl.concat(tables).write_parquet(out)


def measured(job):
    """Measure every method on the answers of one seed: value, low and high of each metric."""
    folder, respondent, name, seed = job
    out = place(folder, respondent, name, seed).with_suffix(".npy")
    if out.exists():
        return
    table = pl.read_parquet(place(folder, respondent, name, seed))
    rows, known = [], {}
    for method in METHODS:
        part = table.filter(method=method).drop("method")
        same = part["confidence"].to_numpy().tobytes(), part["correct"].to_numpy().tobytes()
        if same not in known:  # three methods take what is stated, so they agree to the last bit
            figures = measure_table(part, replicates=REPLICATES, seed=seed).overall.figures
            known[same] = [[f.value, f.low, f.high] for f in (figures[m] for m in CHECKED)]
        rows.append(known[same])
    np.save(out, np.array(rows, dtype=np.float64))


def both(job):
    ask(job)
    measured(job)


def truths(folder, respondent, name, seeds):
    """Measure the answers of all seeds together: what a run of any size aims at."""
    files = [place(folder, respondent, name, seed) for seed in range(seeds)]
    table = pl.concat(pl.read_parquet(f) for f in files).drop_nulls()
    found = []
    for method in METHODS:
        part = table.filter(method=method)
        stated, right = part["confidence"].to_numpy(), part["correct"].to_numpy()
        found.append([METRICS[metric](stated, right) for metric in CHECKED])
    return np.array(found)


def run(folder, seeds, *, again):
    """Ask and measure what is not there yet; `again` measures the answers anew."""
    folder.mkdir(parents=True, exist_ok=True)
    if again:
        for old in folder.glob("*.npy"):
            old.unlink()
    jobs = [(folder, *cell, seed) for seed in range(seeds) for cell in CELLS]
    fresh = get_context("spawn")  # a fork would inherit the locks of other threads
    with ProcessPoolExecutor(2, mp_context=fresh, initializer=shorten) as pool:
        list(pool.map(both, jobs, chunksize=5))


def count(folder, seeds):
    """Count for every size, method and metric how many of 100 intervals hold the truth."""
    for respondent, name in CELLS:
        files = [place(folder, respondent, name, s).with_suffix(".npy") for s in range(seeds)]
        drawn = np.stack([np.load(file) for file in files])
        truth = truths(folder, respondent, name, seeds)
        share = 100 * ((drawn[..., 1] <= truth) & (truth <= drawn[..., 2])).mean(axis=0)
        for method, shares, values in zip(METHODS.values(), share, truth, strict=True):
            for metric, held, value in zip(CHECKED, shares, values, strict=True):
                yield name, method.title, METRICS[metric].title, held, value


def show(cells, seeds):
    """Say how often intervals hold the truth over all sizes and methods, as text for the page."""
    error = 100 * np.sqrt(0.95 * 0.05 / seeds)
    titles = [METRICS[metric].title for metric in CHECKED]
    held = [[cell[3] for cell in cells if cell[2] == title] for title in titles]
    return "\n".join(
        [
            f"{described()}; {seeds} seeds, {REPLICATES} replicates. A cell says how many of 100"
            " intervals hold the truth. 95 is nominal; with so many seeds, 19 of 20 cells of one"
            f" method and size lie within {1.96 * error:.1f} of it where intervals are right.\n",
            f"| all methods, all sizes | {' | '.join(titles)} |",
            "|---|" + "---:|" * len(titles),
            f"| mean | {' | '.join(f'{np.mean(shares):.1f}' for shares in held)} |",
            f"| least | {' | '.join(f'{min(shares):.1f}' for shares in held)} |",
        ]
    )


def record(text, cells):
    """Write the summary into the page, and every cell into the file beside it."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")
    with CELLS_FILE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["size", "method", "metric", "held", "truth"])
        table.writerows([*cell[:3], f"{cell[3]:.1f}", f"{cell[4]:.3f}"] for cell in cells)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=200)
    options.add_argument("--folder", type=Path, default=Path("build/coverage"))
    options.add_argument("--again", action="store_true", help="measure anew, asking nothing anew")
    options.add_argument("--write", action="store_true", help="record the figures")
    args = options.parse_args()
    run(args.folder, args.seeds, again=args.again)
    cells = list(count(args.folder, args.seeds))
    for size, method, metric, held, truth in cells:
        print(f"{size:12} {method:20} {metric:16} {held:5.1f} ({truth:.3f})")
    text = show(cells, args.seeds)
    print(text)
    if args.write:
        record(text, cells)
