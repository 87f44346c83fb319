"""A teacher's targets: cross-fitted by question, from what the samples of a run say together."""

import random
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from novarag import filter_trials
from novarag.errors import UsageError
from novarag.flows import teacher_targets
from novarag.flows.teacher_targets import fit_teacher_targets, self_frequencies
from tests.support.simulated import simulate, write_run


class StandIn:
    """A run of two shards, as far as a teacher looks at one."""

    name = "stand-in"
    finished = (0, 3)

    def __init__(self, rows, *, likelihoods=None):
        self.rows, self.middle = rows, rows[len(rows) // 2]["question"]
        sampling = SimpleNamespace(logprobs=likelihoods is not None)
        self.settings = SimpleNamespace(model="m", sampling=sampling)

    def table(self, shard, columns):
        half = [row for row in self.rows if (row["question"] < self.middle) == (shard == 0)]
        return pl.DataFrame(half, infer_schema_length=None).select("request", *columns)

    def __iter__(self):
        for row in self.rows:
            yield SimpleNamespace(
                group=SimpleNamespace(id=row["group"]), sample=row["sample"], row=row
            )


def make_rows(questions=60, samples=8, seed=0):
    chance, rows = random.Random(seed), []
    for q in range(questions):
        skill = chance.random()
        for i in range(samples):
            right = chance.random() < skill
            rows.append({
                "question": f"q{q:02}", "group": f"g{q:02}", "strategy": "nova",
                "kind": "consistent" if q % 2 else "irrelevant", "sample": i,
                "answer": "the Right one" if right else f"wrong {i}", "confidence": 0.9,
                "correct": right, "request": "r",
            })  # fmt: skip
    return rows


def targets(rows, **more):
    found = fit_teacher_targets(StandIn(rows, **more)).targets
    return pl.concat([found[0], found[3]]).to_list()


def test_the_frequency_of_an_answer_is_its_share_of_all_samples():
    answers = ["The Cape", "cape", None, "x", "cape"]
    rows = [
        {"model": "m", "strategy": "s", "question": "q", "group": g, "answer": a}
        for g, said in (("g1", answers), ("g2", ["x", "x"]))
        for a in said
    ]
    assert self_frequencies(pl.DataFrame(rows)).to_list() == [0.6, 0.6, None, 0.2, 0.6, 1.0, 1.0]


def test_a_teacher_tells_right_from_wrong_better_than_nothing():
    found = fit_teacher_targets(StandIn(make_rows()))
    assert found.facts["signals"] == ["self-frequency", "kind"]
    assert (found.facts["replies"], found.facts["questions"]) == (480, 60)
    assert found.facts["brier"] < 0.2
    assert found.facts["auroc"] > 0.75
    assert all(0 < target < 1 for target in pl.concat(found.targets.values()))


def test_the_grades_of_a_question_never_enter_its_own_targets():
    rows = make_rows()
    before = targets(rows)
    for question in ("q00", "q31", "q59"):
        flipped = [
            row | ({"correct": not row["correct"]} if row["question"] == question else {})
            for row in rows
        ]
        after = targets(flipped)
        own = [i for i, row in enumerate(rows) if row["question"] == question]
        assert [after[i] for i in own] == [before[i] for i in own]
        assert after != before  # those of others, which they do enter


def test_likelihood_counts_where_the_run_kept_it(monkeypatch):
    rows = make_rows()
    chance = np.random.default_rng(0)
    known = {
        (row["group"], row["sample"]): float(np.exp(chance.normal() + row["correct"] * 3 - 5))
        for row in rows
    }
    monkeypatch.setattr(
        teacher_targets,
        "token_signal",
        lambda name, t: known[t.group.id, t.sample] if name else None,
    )
    with_it, without = (
        fit_teacher_targets(StandIn(rows, likelihoods=known)),
        fit_teacher_targets(StandIn(rows)),
    )
    assert with_it.facts["signals"] == ["self-frequency", "likelihood", "kind"]
    assert with_it.facts["auroc"] > without.facts["auroc"]


def test_what_was_not_read_or_graded_has_no_target():
    rows = make_rows()
    rows[0] |= {"answer": None, "confidence": None, "correct": None}
    rows[9] |= {"correct": None}
    found = targets(rows)
    assert [i for i, target in enumerate(found) if target is None] == [0, 9]


def test_too_few_questions_are_refused():
    with pytest.raises(UsageError, match=r"stand-in: 29 graded questions are too few .*'share'"):
        fit_teacher_targets(StandIn(make_rows(29)))


@pytest.mark.parametrize("unfiltered", [False, True])
def test_a_filter_asks_a_teacher_for_each_run(tmp_path, unfiltered):
    rows = simulate(60, samples=6, models=("alpha",), seed=1)
    write_run(tmp_path / "run", rows, questions=7)
    done = filter_trials(
        tmp_path / "run", tmp_path / "kept", alignment="teacher", balance="none",
        unfiltered=unfiltered,
    )  # fmt: skip
    kept = pl.read_parquet(tmp_path / "kept" / "kept.parquet")
    assert kept.height == done.trials > 0
    assert kept["target"].null_count() == 0
    assert kept["target"].is_between(0, 1).all()
    assert kept["target"].n_unique() > 5
    (told,) = done.tally["teachers"]
    assert told["model"] == "alpha"
    assert told["signals"] == ["self-frequency", "kind"]
    page = (tmp_path / "kept" / "report.md").read_text()
    assert "the teacher's targets, fitted on other questions" in page
    assert ("every reply that was read and graded stays" in page) == unfiltered
    rate = kept.filter(pl.col("target") > 0.5)["correct"].mean()
    if unfiltered:
        assert rate > kept.filter(pl.col("target") < 0.5)["correct"].mean()
        assert kept.height > kept["group"].n_unique()
    else:
        assert kept.height == kept["group"].n_unique()
