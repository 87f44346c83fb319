"""Does the chain measure the truth? A respondent with known truth, asked and measured many times.

At the paper's sizes, every method is put to simulated respondents through the real chain: render,
reply, read, grade, method, measure with a bootstrap over questions. Every seed draws questions and
their luck anew. The truth of a metric is its value on the answers of all seeds together. Prints how
often 95 % intervals hold it.

Usage: python -m validation.chain_coverage [--seeds 200] [--folder build/coverage] [--again] [--write]
Answers are kept: a run that was cut off goes on, and measuring alone can be repeated when an
interval was mended. `--write` records the table in docs/evidence/simulated.md.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
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
from novarag.strategies import VANILLA, Strategy
from novarag.uncertainty import METHODS
from tests.support.machine import described
from tests.support.paper_sizes import SIZES, make_groups

CHECKED = ("accuracy", "overconfidence", "brier", "ece", "auroc", "aurc")
_NEEDED = {*CHECKED, "mean_confidence"}
REPLICATES = 400
PAGE = Path(__file__).parents[1] / "docs/evidence/simulated.md"
BEGIN, END = "<!-- coverage -->", "<!-- end of coverage -->"
CELLS = [("tuned", name) for name in SIZES]


class Remembering(Strategy):
    """The same prompt and reader, but a text that was read before is not read again."""

    def read(self, reply, *, k=None):
        return _read(reply, k)


@lru_cache(maxsize=20_000)
def _read(reply, k):
    return VANILLA.read(reply, k=k)


ASKED = Remembering(name="vanilla", template=VANILLA.template)


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
    found = estimate(groups, ASKED, llm)
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


def show(folder, seeds):
    """Say how often intervals hold the truth, as text for the page of evidence."""
    error = 100 * np.sqrt(0.95 * 0.05 / seeds)
    lines = [
        f"{described()}; {seeds} seeds, {REPLICATES} replicates. A cell says how many of 100"
        " intervals hold the truth, and in brackets the truth. 95 is nominal; with so many seeds, 19"
        f" of 20 cells lie within {1.96 * error:.1f} of it where intervals are right.\n"
    ]
    every = []
    for respondent, name in CELLS:
        files = [place(folder, respondent, name, s).with_suffix(".npy") for s in range(seeds)]
        drawn = np.stack([np.load(file) for file in files])
        truth = truths(folder, respondent, name, seeds)
        share = 100 * ((drawn[..., 1] <= truth) & (truth <= drawn[..., 2])).mean(axis=0)
        every.append(share)
        size = SIZES[name]
        lines += [f"**{name}: {size.rows} rows of {size.questions} questions**\n", *head("method")]
        for method, cells, values in zip(METHODS.values(), share, truth, strict=True):
            shown = [f"{c:.1f} ({v:.3f})" for c, v in zip(cells, values, strict=True)]
            lines.append(f"| {method.title} | " + " | ".join(shown) + " |")
        lines.append("")
    whole = np.stack(every)
    lines += head("all methods, all sizes")
    for title, cells in (("mean", whole.mean(axis=(0, 1))), ("least", whole.min(axis=(0, 1)))):
        lines.append(f"| {title} | " + " | ".join(f"{c:.1f}" for c in cells) + " |")
    return "\n".join(lines)


def head(first):
    titles = " | ".join(METRICS[m].title for m in CHECKED)
    return [f"| {first} | {titles} |", "|---|" + "---:|" * len(CHECKED)]


def record(text):
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=200)
    options.add_argument("--folder", type=Path, default=Path("build/coverage"))
    options.add_argument("--again", action="store_true", help="measure anew, asking nothing anew")
    options.add_argument("--write", action="store_true", help="record the table")
    args = options.parse_args()
    run(args.folder, args.seeds, again=args.again)
    text = show(args.folder, args.seeds)
    print(text)
    if args.write:
        record(text)
