"""Scores of FaithBench's detectors, fused: what they gain over a constant, and gates set on them.

Each draw keeps a fifth of the sources for testing and labels so many answers of the others; the
direction of every score, the penalty and the best single score are found in those alone. A gain is
the Brier score less that of a constant fitted on the same rows: below zero is better. Gates are set
on rows drawn from all sentences, a question each, so that the truth is the rate of all of them.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from novarag.calibration.fit_gate import choose, make_chains
from novarag.calibration.fuse_signals import fit_fusion
from novarag.calibration.fused_rows import fit_row_fusion
from novarag.calibration.graded_answers import GradedAnswers, SignalTable
from novarag.stats.separation import separation

DATA = Path(os.environ.get("NOVARAG_DATA", "../shared/data"))

SIZES = (50, 100, 200, 0)  # labelled answers; 0 for all
AIMS = (-0.004, -0.005, -0.006, -0.007)
WORSE = 0.0005  # than the best single score, at most
RISKS, SURE = (0.1, 0.15, 0.2), 0.9
TEXT = {"answer_id", "source_id", "model", "source", "answer", "sentence_index", "sentence"}


class Sentences(NamedTuple):
    """Sentences with their scores: whether each is right, and its answer and source."""

    scores: SignalTable
    right: np.ndarray
    answer: np.ndarray
    source: np.ndarray

    def graded(self, rows: np.ndarray, question: np.ndarray) -> GradedAnswers:
        """Return some of the rows as graded answers."""
        return GradedAnswers(
            confidence=np.full(rows.size, 0.5),
            correct=self.right[rows],
            question=question,
            state=np.full(rows.size, -1, dtype=np.intp),
            scores=self.scores.rows(rows),
            states_confidence=False,
        )


def read_sentences() -> Sentences:
    """Read FaithBench; wrong is what people call unwanted."""
    table = pl.read_parquet(DATA / "claims" / "faithbench_sentences.parquet")
    names = tuple(n for n in table.columns if n not in TEXT | {"labels", "worst"})
    values = table.select(pl.col(names).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
    return Sentences(
        SignalTable(names, values, (None,) * len(names)),
        (table["worst"] != "unwanted").to_numpy(),
        np.unique(table["answer_id"], return_inverse=True)[1],
        np.unique(table["source_id"], return_inverse=True)[1],
    )


def gains(sentences: Sentences, labelled: int, draws: int) -> np.ndarray:
    """Return the gains of the fused scores and of the best single one, a row for each draw."""
    found = []
    sources = sentences.source.max() + 1
    for draw in range(draws):
        rng = np.random.default_rng([37, draw, labelled])
        held = rng.permutation(sources)[: sources // 5]
        test = np.isin(sentences.source, held)
        fitting = ~test
        if labelled:
            own = rng.permutation(np.unique(sentences.answer[fitting]))[:labelled]
            fitting &= np.isin(sentences.answer, own)
        rows, seen = np.flatnonzero(fitting), sentences.right[test].astype(float)
        graded = sentences.graded(rows, sentences.source[rows])
        constant = np.mean((seen - sentences.right[rows].mean()) ** 2)
        best = best_single(sentences, rows)
        one = graded.scores._replace(
            names=graded.scores.names[best : best + 1],
            values=graded.scores.values[:, best : best + 1],
            lower=(None,),
        )
        single = fit_fusion(one, graded.correct.astype(float))
        tested = sentences.scores.values[test]
        fused = fit_row_fusion(graded).many(tested)
        alone = single.many(tested[:, best : best + 1])
        found.append([np.mean((seen - score) ** 2) - constant for score in (fused, alone)])
    return np.array(found)


def best_single(sentences: Sentences, rows: np.ndarray) -> int:
    """Return the score that separates the labelled rows best."""
    right = sentences.right[rows]
    order = []
    for column in sentences.scores.values[rows].T:
        known = ~np.isnan(column)
        above, below = column[known & right], column[known & ~right]
        order.append(abs(separation(above, below) - 0.5) if above.size and below.size else 0.0)
    return int(np.argmax(order))


def broken(sentences: Sentences, draws: int, fitted: int = 200, gated: int = 300) -> np.ndarray:
    """Return for each draw and risk whether a gate was set, and whether its promise is broken."""
    found = np.zeros((draws, len(RISKS), 2), dtype=bool)
    for draw in range(draws):
        rng = np.random.default_rng([38, draw])
        rows = rng.integers(0, sentences.right.size, fitted + gated)
        fusion = fit_row_fusion(sentences.graded(rows[:fitted], np.arange(fitted)))
        score = fusion.many(sentences.scores.values).round(12)
        graded = sentences.graded(rows[fitted:], np.arange(gated))
        own, every = score[rows[fitted:]], np.arange(gated)
        chains = make_chains(graded, own, every, state=None, rows="one", seed=draw)
        for at, risk in enumerate(RISKS):
            chosen = choose(chains, risk, SURE)
            if chosen is not None:
                passed = score >= chosen.chain.counts.threshold[chosen.at] - 1e-9
                found[draw, at] = True, (~sentences.right[passed]).mean() > risk
    return found


def main() -> None:
    """Print the figures; fail where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--gates", type=int, default=2000)
    given = parser.parse_args()
    sentences = read_sentences()
    missed = []
    for labelled, aim in zip(SIZES, AIMS, strict=True):
        made = gains(sentences, labelled, given.draws)
        (fused, alone), error = made.mean(axis=0), made.std(axis=0) / len(made) ** 0.5
        print(
            f"{labelled or 'all'} labelled answers, {given.draws} draws: fused {fused:+.4f}"
            f" (standard error {error[0]:.4f}), best single score {alone:+.4f}; aim {aim:+.4f}",
            flush=True,
        )
        if fused > aim:
            missed.append(f"{labelled or 'all'}: {fused:+.4f} is above {aim:+.4f}")
        if fused > alone + WORSE:
            missed.append(f"{labelled or 'all'}: worse than the best single score")
    found = broken(sentences, given.gates)
    noise = 2 * (SURE * (1 - SURE) / given.gates) ** 0.5
    for at, risk in enumerate(RISKS):
        was_set, is_broken = found[:, at].mean(axis=0)
        print(
            f"gates of {risk:.0%}: set in {was_set:.1%} of {given.gates} draws, broken in {is_broken:.1%}"
        )
        if is_broken > 1 - SURE + noise:
            missed.append(f"gates of {risk:.0%} broken in {is_broken:.1%}")
    if missed:
        raise SystemExit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
