"""Are the rules seen where they act? Respondents that obey or break them, compared by the chain.

First: one that obeys all rules beside one that breaks all, by every headline metric. Second: the
paper's ablation with a respondent that breaks one rule more; only the cell of that rule may move.
No two respondents share their luck. Usage: python -m validation.rules [SEEDS]
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from novarag.flows.ask import ask
from novarag.llm.simulated import RESPONDENTS, SimulatedLLM, SimulatedWorld
from novarag.llm.simulated.respondent import TUNED
from novarag.metrics import METRICS, measure_table
from novarag.metrics.ablation import evidence_set, swap
from novarag.rows import tabulate
from novarag.strategies import NOVA
from novarag.taxonomy import Rule
from tests.support.machine import described
from tests.support.paper_sizes import SIZES, make_groups

# Rules move what is stated, not what is answered: accuracy says nothing here.
HEADLINE = tuple(name for name, m in METRICS.items() if m.headline and name != "accuracy")
PARTS = ("A conflict", "A agree", "B", "C")
ACTS_IN = {
    Rule.CONFLICT_INDEPENDENCE: "A conflict",
    Rule.NOISE_INVARIANCE: "B",
    Rule.PARAMETRIC_FALLBACK: "C",
}


def answers(respondent, groups, seed):
    """Ask one respondent, and lay the answers out."""
    llm = SimulatedLLM(respondent, SimulatedWorld.of(groups), seed=seed)
    return tabulate(ask(groups, NOVA, llm))


def compare(one, other, *, replicates=400):
    """Return each headline metric of the first minus that of the other, with its interval."""
    both = pl.concat([one.with_columns(system=pl.lit("1")), other.with_columns(system=pl.lit("2"))])
    found = measure_table(both, by="system", replicates=replicates).differences
    return {d.metric: d for d in found if d.metric in HEADLINE}


def ranking(groups, seed, *, replicates=400):
    """Compare who obeys with who breaks, each with luck of its own."""
    obeying = answers(RESPONDENTS["tuned"], groups, 2 * seed)
    breaking = answers(RESPONDENTS["base"], groups, 2 * seed + 1)
    return compare(obeying, breaking, replicates=replicates)


def moves(groups, rule, seed, *, replicates=400):
    """Say how each cell of the ablation moves when one rule is no longer obeyed."""
    sets = {g.id: evidence_set(g) for g in groups}
    first = 9 * seed + 3 * list(Rule).index(rule)
    base = answers(RESPONDENTS["base"], groups, first)
    whole = swap(base, answers(TUNED, groups, first + 1), sets)
    less = swap(base, answers(TUNED.without(rule), groups, first + 2), sets)
    return {
        part: compare(
            *(t.filter(system=f"{part} -> tuned") for t in (less, whole)), replicates=replicates
        )
        for part in PARTS
    }


def moved(difference):
    """Say whether zero lies outside the interval of a difference."""
    return difference.figure.low > 0 or difference.figure.high < 0


def one_ablation(job):
    rule, seed = job
    found = moves(make_groups("HotpotQA", seed), rule, seed)
    return [
        [[d.figure.value, moved(d)] for d in (found[part][m] for m in HEADLINE)] for part in PARTS
    ]


def shorten():
    """Cut the table of metrics short, to save time; what is compared is the headline."""
    for extra in set(METRICS) - {*HEADLINE, "accuracy", "mean_confidence", "overconfidence"}:
        del METRICS[extra]


def show_ranking():
    print("Obeying minus breaking, with 95 % intervals; what is better is named in the head.\n")
    heads = [
        f"{METRICS[m].title} ({'more' if METRICS[m].better > 0 else 'less'})" for m in HEADLINE
    ]
    print("| size | " + " | ".join(heads) + " |\n|---|" + "---:|" * len(HEADLINE))
    for name in SIZES:
        found = ranking(make_groups(name), 7, replicates=2000)
        cells = [
            f"{f.value:+.3f} [{f.low:+.3f}, {f.high:+.3f}]"
            for f in (found[m].figure for m in HEADLINE)
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def show_ablation(seeds):
    print(
        f"\nMoves of the ablation's cells over {seeds} seeds, at the size of HotpotQA: mean difference,"
    )
    print(
        "and in how many of 100 seeds its 95 % interval leaves out zero. The rule's own cell is bold.\n"
    )
    print(
        "| rule no longer obeyed | metric | "
        + " | ".join(PARTS)
        + " |\n|---|---|"
        + "---:|" * len(PARTS)
    )
    fresh = get_context("spawn")  # a fork would inherit the locks of other threads
    with ProcessPoolExecutor(2, mp_context=fresh, initializer=shorten) as pool:
        for rule in Rule:
            jobs = [(rule, seed) for seed in range(seeds)]
            found = np.array(list(pool.map(one_ablation, jobs, chunksize=2)))
            for i, metric in enumerate(HEADLINE):
                cells = []
                for j, part in enumerate(PARTS):
                    value, share = found[:, j, i, 0].mean(), 100 * found[:, j, i, 1].mean()
                    cell = f"{value:+.3f}, {share:.0f}"
                    cells.append(f"**{cell}**" if ACTS_IN[rule] == part else cell)
                print(
                    f"| {rule} | {METRICS[metric].title} | " + " | ".join(cells) + " |", flush=True
                )


if __name__ == "__main__":
    print(described() + "\n")
    shorten()
    show_ranking()
    show_ablation(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
