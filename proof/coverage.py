"""Does the chain measure the truth? A respondent with known truth, asked and measured many times.

At the paper's sizes, every method is put to simulated respondents through the real chain: render,
reply, read, grade, method, measure with a bootstrap over questions. Every seed draws questions and
their luck anew. The truth of a metric is its value on the answers of all seeds together. Prints how often 95 % intervals hold it.

Usage: python proof/coverage.py [ask|measure|print|all] [--seeds 200] [--folder build/coverage]
`ask` keeps the answers, so that `measure` can be repeated when an interval was mended.
"""

import argparse
import asyncio
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from machine import described
from novarag.flows import estimate
from novarag.llm.simulated import open_simulated
from novarag.metrics import METRICS, measure, tabulate
from novarag.strategies import VANILLA
from novarag.uncertainty import METHODS
from paper_sizes import SIZES, make_groups

CHECKED = ("accuracy", "overconfidence", "brier", "ece", "auroc", "aurc")
_NEEDED = {*CHECKED, "mean_confidence"}
REPLICATES = 400
CELLS = [("tuned", name) for name in SIZES] + [("base", "HotpotQA"), ("base", "Bamboogle")]


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
    found = asyncio.run(estimate(groups, VANILLA, llm))
    columns = ("question", "group", "confidence", "correct")
    tables = [
        tabulate(trials).select(*columns).with_columns(method=pl.lit(method))
        for method, trials in found.trials.items()
    ]
    pl.concat(tables).write_parquet(out)


def measured(job):
    """Measure every method on the answers of one seed: value, low and high of each metric."""
    folder, respondent, name, seed = job
    table = pl.read_parquet(place(folder, respondent, name, seed))
    rows = []
    for method in METHODS:
        panel = measure(table.filter(method=method), replicates=REPLICATES, seed=seed).overall
        figures = [panel.figures[metric] for metric in CHECKED]
        cells = [[f.value, f.low, f.high] for f in figures]
        rows.append(np.array(cells, dtype=np.float64))
    return np.stack(rows)


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


def run(folder, seeds, step):
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [(folder, *cell, seed) for cell in CELLS for seed in range(seeds)]
    start = time.perf_counter()
    fresh = get_context("spawn")  # a fork would inherit the locks of other threads
    with ProcessPoolExecutor(2, mp_context=fresh, initializer=shorten) as pool:
        if step in {"ask", "all"}:
            list(pool.map(ask, jobs, chunksize=4))
            print(f"asked in {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        if step in {"measure", "all"}:
            figures = list(pool.map(measured, jobs, chunksize=4))
            np.save(
                folder / "figures.npy",
                np.stack(figures).reshape(len(CELLS), seeds, *figures[0].shape),
            )
            print(
                f"measured after {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True
            )
    if step != "ask":
        show(folder, seeds, time.perf_counter() - start)


def show(folder, seeds, seconds):
    figures = np.load(folder / "figures.npy")
    error = 100 * np.sqrt(0.95 * 0.05 / seeds)
    print(f"{described()}; {seeds} seeds, {REPLICATES} replicates, {seconds / 60:.0f} minutes.")
    print(
        f"Cells: how many of 100 intervals hold the truth; 95 is nominal, give or take {2 * error:.1f}.\n"
    )
    every = []
    for (respondent, name), drawn in zip(CELLS, figures, strict=True):
        truth = truths(folder, respondent, name, seeds)
        inside = (drawn[..., 1] <= truth) & (truth <= drawn[..., 2])
        share = 100 * inside.mean(axis=0)
        every.append(share)
        size = SIZES[name]
        print(f"### {respondent}, {name}: {size.rows} rows of {size.questions} questions\n")
        print("| method | " + " | ".join(METRICS[m].title for m in CHECKED) + " |")
        print("|---|" + "---:|" * len(CHECKED))
        for method, cells, values in zip(METHODS.values(), share, truth, strict=True):
            told = [f"{c:.1f} ({v:.3f})" for c, v in zip(cells, values, strict=True)]
            print(f"| {method.title} | " + " | ".join(told) + " |")
        print()
    whole = np.stack(every)
    print("| all methods, all sizes | " + " | ".join(METRICS[m].title for m in CHECKED) + " |")
    print("|---|" + "---:|" * len(CHECKED))
    for label, cells in (("mean", whole.mean(axis=(0, 1))), ("least", whole.min(axis=(0, 1)))):
        print(f"| {label} | " + " | ".join(f"{c:.1f}" for c in cells) + " |")


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument(
        "step", nargs="?", default="all", choices=["ask", "measure", "print", "all"]
    )
    options.add_argument("--seeds", type=int, default=200)
    options.add_argument("--folder", type=Path, default=Path("build/coverage"))
    told = options.parse_args()
    run(told.folder, told.seeds, told.step)
