"""Is what is said of a table so? Counted on tables that are drawn with a known truth.

- Hidden repeats: questions with copies spelt in other ways (spaces, case, punctuation, numbering)
  and graded alike. A promise is broken where a gate certifies a risk under the true one; at 90 %
  that may happen in 10 % of draws. Beside it: the same rows, each taken for its own question.
- Columns that change the error rate: how often noise is named, and how often pooled models are.
- Pairs of groups: how often a figure names a pair where no group differs, and how often any does.

Prints a table and PASS or MISS for each claim. Usage: python -m validation.statements [DRAWS]
"""

import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl

from novarag import read_answers
from novarag.answers.opening.arrays import known_rows
from novarag.calibration.fit_gate import choose, chosen_rows, make_chains
from novarag.metrics.measuring import HEADLINES, compare_groups
from novarag.metrics.remarks import LEVEL, telling_columns
from tests.support.statement_tables import answers_by_segment, hidden_repeats, pooled_models

SURE, WRONG, RISKS = 0.9, 0.2, (0.05, 0.1, 0.15)
REPEATED = ((30, 20), (200, 5))
ALIKE = {"a": 0.8, "b": 0.8, "c": 0.8}


def certified(frame: pl.DataFrame, risk: float) -> bool:
    """Say whether a gate certifies a risk on a table."""
    rows = known_rows(read_answers(frame))
    chosen = chosen_rows(rows, "one", 0)[1]
    chains = make_chains(rows, rows.confidence, chosen, state=None, rows="one", seed=0)
    return choose(chains, risk, SURE) is not None


def repeats(draws: int, questions: int, copies: int) -> dict[str, dict[float, float]]:
    """Return how often each risk under the true one is certified, by text and row by row."""
    broken = {"by text": Counter[float](), "each row": Counter[float]()}
    for seed in range(draws):
        table = hidden_repeats(questions=questions, copies=copies, wrong=WRONG, seed=seed)
        alone = table.with_columns(question=pl.format("q{}", pl.int_range(pl.len())))
        for risk in RISKS:
            broken["by text"][risk] += certified(table, risk)
            broken["each row"][risk] += certified(alone, risk)
    return {name: {risk: counts[risk] / draws for risk in RISKS} for name, counts in broken.items()}


def noise(tables: int) -> Iterator[bool]:
    """Say of tables with 21 columns that tell nothing whether one was named."""
    for seed in range(tables):
        yield bool(telling_columns(pooled_models(rights=ALIKE, rows=300, noise=20, seed=seed)))


def noise_by_question(tables: int) -> Iterator[bool]:
    """Do so where each question has five rows that mostly stand or fall together."""
    rng = np.random.default_rng(1)
    for _ in range(tables):
        question = np.repeat(np.arange(80), 5)
        own = rng.random(80) < 0.75
        right = np.where(rng.random(400) < 0.9, own[question], rng.random(400) < 0.75)
        columns = {f"of the question {i}": rng.integers(0, 3, 80)[question] for i in range(8)}
        columns |= {f"of the row {i}": rng.integers(0, 4, 400) for i in range(8)}
        stated = rng.choice([0.8, 0.9], 400)
        names = [f"q{i}" for i in question]
        table = pl.DataFrame({"question": names, "confidence": stated, "correct": right, **columns})
        yield bool(telling_columns(table))


def pairs(tables: int) -> Counter[str]:
    """Count the tables of five equal groups in which each figure names a pair, and any does."""
    named = Counter[str]()
    equal = dict.fromkeys("abcde", 0.65)
    for seed in range(tables):
        table = answers_by_segment(equal, each=100, seed=seed)
        found = compare_groups(table, HEADLINES, by="segment", replicates=200, seed=seed)[1]
        metrics = {d.metric for d in found if d.p_holm < 0.05}
        named.update([*metrics, *(["any"] if metrics else [])])
    return named


def say(claim: str, value: float, most: float) -> bool:
    kept = value <= most
    print(f"{'PASS' if kept else 'MISS'}  {claim}: {value:.1%} (at most {most:.0%})")
    return kept


def main(draws: int) -> int:
    kept, some = [], max(draws // 2, 1)
    for questions, copies in REPEATED:
        print(f"{questions} questions x {copies}, {WRONG:.0%} wrong, {some:,} draws; certified at:")
        found = repeats(some, questions, copies)
        for name, shares in found.items():
            print(f"  {name:9}", *(f"{risk:.0%}: {share:6.1%}" for risk, share in shares.items()))
        by_text = max(found["by text"].values())
        kept.append(say("hidden repeats: the gate's promise is broken", by_text, 1 - SURE))
    fewer = max(draws // 4, 1)
    named, clustered = np.mean([*noise(fewer)]), np.mean([*noise_by_question(fewer)])
    kept.append(say(f"noise is named, {fewer:,} tables of 21 columns", float(named), 2 * LEVEL))
    kept.append(say(f"the same, five rows a question, {fewer:,}", float(clustered), 2 * LEVEL))
    few = max(draws // 20, 1)
    power = [telling_columns(pooled_models(seed=seed)) for seed in range(few)]
    missed = np.mean([not one or one[0].column != "Modell" for one in power])
    kept.append(say(f"pooled models go unnamed, {few:,} tables of 900 rows", float(missed), 0.1))
    counts = pairs(few)
    print(f"Five equal groups, {few:,} tables: a pair is named in", end=" ")
    print(", ".join(f"{name} {counts[name] / few:.1%}" for name in (*HEADLINES, "any")))
    figures = max(counts[name] / few for name in HEADLINES)
    kept.append(say("a figure names a pair where none differs", figures, 0.1))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
