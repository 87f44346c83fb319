"""Answers of a small model on a real vLLM: what the likelihood of its tokens adds to a calibration.

Usage: python -m validation.likelihood_signal ask [--url URL=NAME] [--questions 600] [--out DIR]
       python -m validation.likelihood_signal compare [--out DIR] [--resamples 200]

`ask` asks `vanilla` yes-no questions, held to its form, with log-probabilities, as a run that can
be killed and goes on. `compare` draws graded answers from it, fits with and without the signal, and scores both
on the answers that were not drawn.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from novarag import Access, Columns, Sampling, ask, load_benchmark
from novarag.calibration.fitting import fit_rows
from novarag.calibration.scores import score
from novarag.flows.graded import collect_graded
from novarag.strategies import VANILLA
from tests.support.machine import described

SIZES = (50, 100, 200)
FORM = r"Answer: (?:yes|no)\nConfidence: (?:100|[1-9]?[0-9])%"


def record(url: str, questions: int, out: Path) -> None:
    """Ask yes-no questions, one row a group; open ones are beyond so small a model."""
    groups = load_benchmark("strategyqa")[:questions]
    sampling = Sampling(max_tokens=40, regex=FORM, logprobs=True)
    ask(groups, VANILLA, url, out=out, sampling=sampling,
        access=Access(timeout=1200, concurrency=16))  # fmt: skip


def compare(out: Path, resamples: int) -> int:
    """Score fits with and without the signal on the rows that were not drawn."""
    graded = collect_graded(out, columns=Columns(signal="likelihood"))
    graded = graded.rows(graded.read)
    ones = np.ones(len(graded))
    has = np.isfinite(graded.signal)
    print(f"{described()}\n{len(graded)} answers read, {graded.correct.mean():.1%} right")
    for name, values in (("stated", graded.confidence), ("likelihood", graded.signal)):
        rows = has if name == "likelihood" else ones.astype(bool)
        print(f"{name} alone: {score(values[rows], graded.correct[rows], ones[rows])}")
    failed = False
    rng = np.random.default_rng(19)
    for n in SIZES:
        found = []
        for _ in range(resamples):
            order = rng.permutation(len(graded))
            drawn, rest = graded.rows(order[:n]), graded.rows(order[n:])
            states = [rest.state_name(s) for s in rest.state]
            without = fit_rows(_without(drawn)).apply(rest.confidence, states)
            with_it = fit_rows(drawn).apply(rest.confidence, states, rest.signal)
            weight = np.ones(len(rest))
            found.append([
                (s.brier, s.auroc) for made in (without, with_it)
                for s in [score(made.probability, rest.correct, weight)]
            ])  # fmt: skip
        (b0, a0), (b1, a1) = np.mean(found, axis=0)
        worse = b1 > b0 + 0.002
        print(f"n={n}: Brier {b0:.4f} without, {b1:.4f} with; AUROC {a0:.3f}, {a1:.3f}"
              f" {'MISS' if worse and n >= 100 else 'PASS'}")  # fmt: skip
        failed |= worse and n >= 100
    return int(failed)


def _without(graded):
    from dataclasses import replace

    return replace(graded, signal=None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["ask", "compare"])
    parser.add_argument("--url", default="http://127.0.0.1:8411=base")
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--out", type=Path, default=Path("build/likelihood"))
    parser.add_argument("--resamples", type=int, default=200)
    given = parser.parse_args()
    if given.what == "ask":
        record(given.url, given.questions, given.out)
        return 0
    return compare(given.out, given.resamples)


if __name__ == "__main__":
    sys.exit(main())
