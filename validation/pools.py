"""Pools of graded answers from which samples are drawn: what holds in a pool is the known truth.

44 pools chose the rules of `novarag.calibration`: 37 of real models' stated confidences (`verb`,
`mmlu`, `rlcr`) and 7 of simulated respondents (`sim`). `held_out` are the other models of the
largest set, which chose nothing; `clustered` are 4,000 questions asked beside five passage groups
each. The first call makes what it needs (the simulated ones take a minute or two) and keeps it in
build/pools. Usage: python -m validation.pools
"""

import dataclasses
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from novarag.grouping import assemble, evidence_state
from novarag.llm.simulated import RESPONDENTS
from novarag.llm.simulated.replies import judge
from novarag.llm.simulated.respondent import SimulatedRespondent, consider, heated, stated
from novarag.records import Passage, PassageGroup, Question
from novarag.seeding import rng_for
from novarag.taxonomy import EvidenceState, PassageKind, Utility

CACHE = Path("build/pools")
STEM = ("math", "physics", "chemistry", "engineering", "computer science")
HUMANITIES = ("history", "law", "philosophy", "psychology")
SHOWN = 20  # models of mmlu that chose the rules
LEAST = {"mmlu": 5000, "rlcr": 1000}

GOLD, COUNTER, RELEVANT, IRRELEVANT = (
    PassageKind.GOLD,
    PassageKind.COUNTERFACTUAL,
    PassageKind.RELEVANT,
    PassageKind.IRRELEVANT,
)
MIXES = (
    ((GOLD, COUNTER, IRRELEVANT), 0.15),
    ((GOLD, COUNTER, COUNTER), 0.1),
    ((GOLD, IRRELEVANT, IRRELEVANT), 0.2),
    ((GOLD, RELEVANT, IRRELEVANT), 0.2),
    ((GOLD,), 0.05),
    ((RELEVANT, IRRELEVANT, IRRELEVANT), 0.2),
    ((IRRELEVANT, IRRELEVANT, IRRELEVANT), 0.1),
)
BESIDE = (
    (GOLD, IRRELEVANT, IRRELEVANT),
    (GOLD, RELEVANT, IRRELEVANT),
    (GOLD,),
    (GOLD, GOLD, IRRELEVANT),
    (GOLD, COUNTER, IRRELEVANT),
)


@dataclass(frozen=True)
class Pool:
    """Graded answers of one model: stated confidence, state as a code, right or not, a signal.

    In real pools the state is a stand-in, a dataset or a subject area. `signal` is the likelihood
    of the answer (`verb`), its perplexity (`mmlu`) or self-frequency of five samples (`sim`); NaN
    where there is none. `chance` is the true chance of being right, known of simulated ones only.
    """

    confidence: np.ndarray
    state: np.ndarray
    correct: np.ndarray
    signal: np.ndarray
    chance: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.confidence)


def pools() -> dict[str, Pool]:
    """Return the 44 pools by name, `family:model`."""
    return _kept("real", _real) | _kept("sim", _simulated)


def held_out() -> dict[str, Pool]:
    """Return the models of mmlu with over 5,000 usable rows that are not among the 44 pools."""
    return _kept("held_out", lambda: _mmlu(shown=False))


def clustered() -> Pool:
    """Return one pool of 4,000 x 5 rows: a question beside five groups; its luck is shared."""
    return _kept("clustered", lambda: {"clustered": _clusters()})["clustered"]


def _kept(name: str, make: Callable[[], dict[str, Pool]]) -> dict[str, Pool]:
    place = CACHE / f"{name}.npz"
    fields = [field.name for field in dataclasses.fields(Pool)]
    if not place.exists():
        made = make()
        arrays = {
            f"{pool}|{field}": array
            for pool, held in made.items()
            for field in fields
            if (array := getattr(held, field)) is not None
        }
        CACHE.mkdir(parents=True, exist_ok=True)
        part = place.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(part, **arrays)
        part.replace(place)
    with np.load(place) as file:
        names = dict.fromkeys(key.rpartition("|")[0] for key in file.files)
        return {
            pool: Pool(**{f: file[k] for f in fields if (k := f"{pool}|{f}") in file.files})
            for pool in names
        }


def _responses(name: str) -> pl.DataFrame:
    folder = Path(os.environ.get("NOVARAG_DATA", "../shared/data")) / "responses"
    return pl.read_parquet(folder / f"{name}.parquet").with_columns(pl.col("model").cast(str))


def _by_model(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in rows["model"].unique().sort():
        yield name, rows.filter(pl.col("model") == name)


def _real() -> dict[str, Pool]:
    return _verb() | _mmlu(shown=True) | _rlcr()


def _verb() -> dict[str, Pool]:
    rows = _responses("verb_guess_probability").filter(
        pl.col("author_confidence").is_between(0, 1), pl.col("judge_score").is_in([0.0, 1.0])
    )
    made = {}
    for name, all_rows in _by_model(rows):
        own = all_rows.unique("question", keep="first", maintain_order=True)
        made[f"verb:{name}"] = Pool(
            confidence=own["author_confidence"].to_numpy(),
            state=_other_than_first(own),
            correct=own["judge_score"].to_numpy().astype(np.int64),
            signal=own["seq_prob"].to_numpy(),
        )
    return made


def _mmlu(*, shown: bool) -> dict[str, Pool]:
    rows = _responses("mmlu_pro_confidences_80models").filter(
        pl.col("verbal_numeric").is_between(0, 1)
    )
    area = pl.col("category").cast(str)
    rows = rows.with_columns(
        state=pl.when(area.is_in(STEM)).then(0).when(area.is_in(HUMANITIES)).then(1).otherwise(2)
    )
    sizes = rows.group_by("model").len().filter(pl.col("len") > LEAST["mmlu"])
    names = sorted(sizes["model"])
    chosen = np.random.default_rng(1).choice(names, SHOWN, replace=False).tolist()
    wanted = chosen if shown else [name for name in names if name not in chosen]
    made = {}
    for name in wanted:
        own = rows.filter(pl.col("model") == name)
        made[f"mmlu:{name}"] = Pool(
            confidence=own["verbal_numeric"].to_numpy().astype(float),
            state=own["state"].to_numpy().astype(np.int64),
            correct=own["correct"].to_numpy().astype(np.int64),
            signal=own["logit_perplexity"].to_numpy().astype(float),
        )
    return made


def _rlcr() -> dict[str, Pool]:
    rows = _responses("rlcr_outputs").filter(pl.col("author_confidence").is_between(0, 1))
    return {
        f"rlcr:{name}": Pool(
            confidence=own["author_confidence"].to_numpy(),
            state=_other_than_first(own),
            correct=own["correct"].to_numpy(),
            signal=np.full(own.height, np.nan),
        )
        for name, own in _by_model(rows)
        if own.height >= LEAST["rlcr"]
    }


def _other_than_first(rows: pl.DataFrame) -> np.ndarray:
    """Return 0 for rows of the dataset that stands first, 1 for those of the others."""
    return (rows["dataset"] != rows["dataset"][0]).to_numpy().astype(np.int64)


def _respondents() -> Iterator[SimulatedRespondent]:
    yield RESPONDENTS["base"]
    yield RESPONDENTS["tuned"]
    yield from (r for name, r in RESPONDENTS.items() if "without" in name)
    yield dataclasses.replace(RESPONDENTS["tuned"], name="boastful", bias=1.2, sharpness=0.6)
    yield dataclasses.replace(RESPONDENTS["base"], name="base-boast70", boast=0.7)


def _simulated(questions: int = 12_000, seed: int = 7) -> dict[str, Pool]:
    """One passage group a question; the state is what the respondent itself judges."""
    shares = [share for _, share in MIXES]
    mixes = np.random.default_rng(seed).choice(len(MIXES), questions, p=shares)
    groups = [_group(f"q{i}", f"g{i}", MIXES[mix][0]) for i, mix in enumerate(mixes)]
    return {f"sim:{r.name}": _answers(r, groups, seed) for r in _respondents()}


def _group(question: str, name: str, kinds: tuple[PassageKind, ...]) -> PassageGroup:
    passages = [
        Passage(text=f"text {name} {at}", kind=kind, claim="Elsewhere" if kind is COUNTER else None)
        for at, kind in enumerate(kinds)
    ]
    asked = Question(id=question, text=f"question {question[1:]}?", answers=("right",))
    return assemble(asked, passages, id=name)


def _answers(respondent: SimulatedRespondent, groups: list[PassageGroup], seed: int) -> Pool:
    rows = []
    for at, group in enumerate(groups):
        prospect = consider(respondent, group, right="right", wrong=["a", "b", "c"], seed=seed)
        rng = rng_for(seed, respondent.name, f"j{at}")
        said = judge([kind.utility for kind in group.kinds or ()], respondent.judging, rng)
        strong = sum(utility is Utility.HIGHLY_RELEVANT for utility in said)
        torn = evidence_state(group) in {EvidenceState.CONFLICTING, None}
        state = 2 if not strong else 0 if strong > 1 and torn else 1
        weights = heated(prospect.weights, 1.0)
        samples = rng.choices(range(len(weights)), weights, k=5)
        rows.append(
            (
                stated(respondent, prospect, 0) / 100,
                state,
                int(prospect.right == 0),
                samples.count(0) / 5,
                prospect.chances[0],
            )
        )
    confidence, states, correct, signal, chance = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    return Pool(confidence, states, correct, signal, chance)


def _clusters(questions: int = 4000, seed: int = 11) -> Pool:
    tuned = RESPONDENTS["tuned"]
    confidence = np.zeros((questions, len(BESIDE)))
    correct = np.zeros((questions, len(BESIDE)), dtype=np.int64)
    for i in range(questions):
        for j, kinds in enumerate(BESIDE):
            group = _group(f"q{i}", f"{i}-{j}", kinds)
            prospect = consider(tuned, group, right="right", wrong=["a", "b", "c"], seed=seed)
            confidence[i, j] = stated(tuned, prospect, 0) / 100
            correct[i, j] = prospect.right == 0
    state = np.zeros(correct.shape, dtype=np.int64)
    return Pool(confidence, state, correct, np.full(correct.shape, np.nan))


if __name__ == "__main__":
    for name, pool in (pools() | held_out() | {"clustered": clustered()}).items():
        right, said = pool.correct.mean(), pool.confidence.mean()
        print(f"{name:50} {len(pool):6,} rows, {right:.3f} right, {said:.3f} stated")
