"""Does a gate keep its promise, and how much does it keep?

Rows are drawn from pools whose truth is known. A promise is broken where the threshold that a gate
certified has a true error over the risk; at 90 % that may happen in 10 % of draws. Prints a table
and PASS or MISS for each claim. Usage: python -m validation.gate [RUNS]
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import numpy as np

from novarag.calibration.fit_gate import choose, chosen_rows, make_chains
from novarag.calibration.graded_answers import GradedAnswers
from validation.pools import clustered, pools

SURE = 0.9
RISKS = (0.05, 0.1, 0.2)
SIZES = (50, 100, 200, 500, 1000)
TEN = (
    "mmlu:o4-mini-2025-04-16", "mmlu:gemini-2.0-flash", "mmlu:Meta-Llama-3.1-405B-Instruct-Turbo",
    "mmlu:Phi-4-mini-reasoning", "rlcr:RLCR", "rlcr:RLVR-Classifier",
    "verb:meta-llama_Meta-Llama-3.1-70B-Instruct", "mmlu:grok-2-1212", "sim:tuned",
    "sim:tuned-without-noise-invariance",
)  # fmt: skip
LEAST_KEPT = {100: 0.26, 500: 0.48, 1000: 0.57}
ATTAINABLE = 0.02  # a share of answers that is worth the name
STATES = ("conflicting", "consistent", "insufficient")


@dataclass(frozen=True)
class Population:
    """What rows are drawn from: score (NaN: unread), right or not, state, rate of being picked.

    Rows of `cluster` columns are drawn together, as the answers to one question.
    """

    score: np.ndarray
    correct: np.ndarray
    state: np.ndarray | None = None
    rate: np.ndarray | None = None

    @cached_property
    def _reach(self) -> np.ndarray:
        return np.cumsum(self.rate)

    def draw(self, rng: np.random.Generator, questions: int) -> GradedAnswers:
        at = rng.integers(0, len(self.score), questions)
        if self.rate is not None:
            at = np.searchsorted(self._reach, rng.random(questions) * self._reach[-1])
        score, correct = self.score[at], self.correct[at]
        each = score.shape[1] if score.ndim == 2 else 1
        state = np.full(score.size, -1) if self.state is None else self.state[at].ravel()
        return GradedAnswers(
            confidence=score.ravel(),
            correct=correct.ravel().astype(bool),
            question=np.repeat(np.arange(questions), each),
            state=state,
            states=() if self.state is None else STATES,
            weight=None if self.rate is None else 1 / self.rate[at],
        )

    def truth(self, threshold: float, state: int | None) -> tuple[float, float]:
        """Return the share of answers at or above a threshold, and their rate of error."""
        over = self.score >= threshold - 1e-9
        if state is not None:
            over &= self.state == state
        return float(over.mean()), float(1 - self.correct[over].mean()) if over.any() else 0.0

    def best(self, risk: float) -> float:
        """Return the largest share that can be answered at a risk."""
        shares = [self.truth(level, None) for level in np.unique(self.score[self.score >= 0])]
        return max((share for share, error in shares if error <= risk), default=0.0)


class Tried(NamedTuple):
    """What came of many draws: how often the promise was broken, the share kept, refusals."""

    broken: float
    kept: float
    refused: float


def tried(  # noqa: PLR0913
    population: Population,
    questions: int,
    runs: int,
    *,
    risks: tuple[float, ...] = RISKS,
    rows: str = "one",
    state: str | None = None,
    seed: int = 5,
) -> dict[float, Tried]:
    """Set gates on many draws; the same draws for each risk."""
    known: dict[tuple[float, str | None], tuple[float, float]] = {}
    found = {risk: [] for risk in risks}
    for run in range(runs):
        graded = population.draw(np.random.default_rng([seed, questions, run]), questions)
        _, chosen = chosen_rows(graded, rows, run)
        chains = make_chains(graded, graded.confidence, chosen, state=state, rows=rows, seed=run)
        for risk in risks:
            best = choose(chains, risk, SURE)
            if best is None:
                found[risk].append((0.0, 0.0))
                continue
            key = (float(best.chain.counts.threshold[best.at]), best.chain.state)
            if key not in known:
                number = None if key[1] is None else STATES.index(key[1])
                known[key] = population.truth(key[0], number)
            found[risk].append(known[key])
    return {risk: _summed(np.array(rows), risk) for risk, rows in found.items()}


def _summed(found: np.ndarray, risk: float) -> Tried:
    share, error = found.T
    return Tried(
        float((error > risk + 1e-12).mean()), float(share.mean()), float((share == 0).mean())
    )


def population_of(name: str) -> Population:
    pool = pools()[name]
    whole = np.floor(np.round(pool.confidence, 3) * 100 + 1e-9) / 100
    return Population(whole, pool.correct, pool.state)


def flat(
    risk: float, levels: int, *, first: float | None = None, rows: int = 200_000
) -> Population:
    """Return answers that are wrong a hair more often than the risk, at every level alike."""
    score = np.repeat(np.linspace(1, 0.05, levels), rows // levels)
    error = np.full(levels, risk + 0.0005)
    if first is not None:
        error[0] = first
    each = rows // levels
    wrong = np.concatenate([np.arange(each) < round(share * each) for share in error])
    return Population(score, ~wrong)


def with_unread(population: Population, seed: int = 1) -> Population:
    """Make 15 % of replies unread, more of the confident ones; unread ones are mostly wrong."""
    luck = np.random.default_rng(seed).random(len(population.score))
    lost = luck < 0.1 + 0.1 * (population.score > 0.85)
    return replace(population, score=np.where(lost, np.nan, population.score))


def coarse(population: Population) -> Population:
    """Put all scores into three levels."""
    return replace(population, score=np.select(
        [population.score >= 0.95, population.score >= 0.8], [1.0, 0.9], 0.5
    ))  # fmt: skip


def picked(population: Population) -> Population:
    """Pick rows at rates that differ eightfold, by state and confidence."""
    doubtful = np.abs(population.score - 0.8) < 0.15
    state = 0 if population.state is None else population.state
    return replace(population, rate=np.where(doubtful, 1.0, 0.25) * np.where(state == 1, 0.5, 1.0))


def groups_of_five(*, alike: bool = False) -> Population:
    pool = clustered()
    score, correct = pool.confidence, pool.correct
    if alike:
        score, correct = np.repeat(score[:, :1], 5, axis=1), np.repeat(correct[:, :1], 5, axis=1)
    return Population(score, correct)


def flat_clusters(risk: float, shared: float, questions: int = 40_000) -> Population:
    """Return five answers a question, wrong a hair over the risk; luck is shared by a part."""
    rng = np.random.default_rng(8)
    shape = (questions, 5)
    common = rng.random((questions, 1))
    luck = np.where(rng.random(shape) < sqrt(shared), common, rng.random(shape))
    score = np.round(rng.integers(1, 21, shape) / 20, 2)
    return Population(score, luck >= risk + 0.004)


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    group: str
    name: str
    make: Callable[[], Population]
    questions: int
    risks: tuple[float, ...] = RISKS
    rows: str = "one"
    state: str | None = None


def cases() -> Iterator[Case]:
    for name in TEN:
        yield from _of_a_pool(name)
    for risk in RISKS:
        yield from _of_flat_risk(risk)
    yield from _of_clusters("one", "clusters of five")
    yield from _of_clusters("all", "clusters, all rows (approximate)")
    for name in ("sim:tuned", "sim:boastful", "sim:tuned-without-conflict-independence"):
        for size in (200, 1000):
            make = _Made(population_of, name)
            yield Case("by state", name, make, size, (0.2, 0.3), "one", "consistent")


def _of_a_pool(name: str) -> Iterator[Case]:
    for size in SIZES:
        yield Case("ten pools", name, _Made(population_of, name), size)
    yield Case("ties", name, _Made(_coarse_of, name), 200)
    yield Case("unread", name, _Made(_unread_of, name), 200)
    for size in (200, 500):
        yield Case("picked", name, _Made(_picked_of, name), size)


def _of_flat_risk(risk: float) -> Iterator[Case]:
    for size in (100, 500, 1000):
        for levels in (2, 5, 20):
            group = "ties" if levels == 2 else "flat"
            yield Case(group, f"{levels} levels", _Made(flat, risk, levels), size, (risk,))
        yield Case("flat", "worst at the top", _Made(_dip, risk), size, (risk,))
    for size in (100, 500):
        yield Case("picked", "flat", _Made(_flat_picked, risk), size, (risk,))
        yield Case("unread", "flat", _Made(_flat_unread, risk), size, (risk,))


def _of_clusters(rows: str, group: str) -> Iterator[Case]:
    for size in (50, 100, 200, 400):
        for alike in (False, True):
            name = "one reply five times" if alike else "five groups a question"
            yield Case(group, name, _Made(_five, alike), size, (0.1, 0.15, 0.2), rows)
    for risk in RISKS:
        for shared in (0.0, 0.6, 1.0):
            make = _Made(flat_clusters, risk, shared)
            yield Case(group, f"flat, {shared:g} of luck shared", make, 100, (risk,), rows)


class _Made(NamedTuple):
    """A population that is made where it is drawn from."""

    of: Callable[..., Population]
    one: object
    two: object = None

    def __call__(self) -> Population:
        return self.of(self.one) if self.two is None else self.of(self.one, self.two)


def _coarse_of(name: str) -> Population:
    return coarse(population_of(name))


def _unread_of(name: str) -> Population:
    return with_unread(population_of(name))


def _picked_of(name: str) -> Population:
    return picked(population_of(name))


def _dip(risk: float) -> Population:
    return flat(risk, 5, first=2 * risk)


def _flat_picked(risk: float) -> Population:
    return picked(flat(risk, 20))


def _flat_unread(risk: float) -> Population:
    return with_unread(flat(risk, 20))


def _five(alike: bool) -> Population:
    return groups_of_five(alike=alike)


def run_case(job: tuple[Case, int]) -> tuple[dict[float, Tried], dict[float, float]]:
    case, runs = job
    population = case.make()
    best = {risk: population.best(risk) for risk in case.risks if case.group == "ten pools"}
    found = tried(
        population, case.questions, runs, risks=case.risks, rows=case.rows, state=case.state
    )
    return found, best


def claim(holds: bool, text: str) -> bool:
    print(f"{'PASS' if holds else 'MISS'}  {text}")
    return holds


def _promises(all_cases: list[Case], found: list, runs: int) -> bool:
    allowed = 1 - SURE + 2 * sqrt(SURE * (1 - SURE) / runs)
    fine = True
    for group in dict.fromkeys(case.group for case in all_cases):
        rows = [(c, f) for c, (f, _) in zip(all_cases, found, strict=True) if c.group == group]
        cells = [(t.broken, c, risk) for c, f in rows for risk, t in f.items()]
        worst, case, risk = max(cells, key=lambda cell: cell[0])
        where = f"{case.name}, {case.questions} questions, risk {risk:.0%}"
        sentence = f"{group}: promise broken in at most {worst:.1%} of draws ({where})"
        if "approximate" in group:
            print(f"      {sentence}; no promise is made")
        else:
            fine &= claim(worst <= allowed, f"{sentence}; {allowed:.1%} allowed")
    return fine


def _kept(all_cases: list[Case], found: list) -> bool:
    fine = True
    for risk in RISKS:
        line = []
        for size in SIZES:
            kept = [
                tries[risk].kept
                for case, (tries, best) in zip(all_cases, found, strict=True)
                if case.group == "ten pools" and case.questions == size and best[risk] > ATTAINABLE
            ]
            line.append(f"{np.mean(kept):.3f}")
            if risk == 0.2 and size in LEAST_KEPT:
                text = (
                    f"kept at 20 %, {size} rows: {np.mean(kept):.3f}, at least {LEAST_KEPT[size]}"
                )
                fine &= claim(bool(np.mean(kept) >= LEAST_KEPT[size]), text)
        print(f"      kept at {risk:.0%}, {SIZES} rows, {len(kept)} pools: {' '.join(line)}")
    return fine


def main(runs: int) -> int:
    all_cases = list(cases())
    print(f"{runs:,} draws a case; broken / kept / refused for each risk")
    with ProcessPoolExecutor(2) as pool:
        found = []
        for case, (tries, best) in zip(
            all_cases, pool.map(run_case, [(case, runs) for case in all_cases]), strict=True
        ):
            cells = (
                f"{r:.0%}: {t.broken:.3f}/{t.kept:.3f}/{t.refused:.2f}" for r, t in tries.items()
            )
            label = f"{case.group}: {case.name}, {case.questions}"
            print(f"{label:75} {'   '.join(cells)}", flush=True)
            found.append((tries, best))
    fine = [_promises(all_cases, found, runs), _kept(all_cases, found)]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
