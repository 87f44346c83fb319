"""The compact form is read by the reader of `nova`; the rows of the arms are the model's own replies."""

import numpy as np
import polars as pl
import pytest

from experiments.nova_qwen import adapters, proof, teaching
from experiments.nova_qwen.arms import (
    ARMS,
    EVERY,
    STATE,
    arm_rows,
    filter_of,
    kept_trials,
    state_shares,
)
from experiments.nova_qwen.compact import COMPACT, NAME
from experiments.nova_qwen.plan import SAMPLE
from experiments.nova_qwen.store import Store
from novarag.errors import DataError
from novarag.grouping import evidence_state
from novarag.records import Completion, Flaw
from novarag.rows import TRIALS, lay_out, to_row
from novarag.strategies import find_strategy
from novarag.taxonomy import EvidenceState, Utility
from novarag.trials import make_trial
from tests.support.filtered_folder import KINDS, make_group

LETTERS = {Utility.HIGHLY_RELEVANT: "HR", Utility.RELEVANT: "R", Utility.IRRELEVANT: "I"}
SAID = (
    "Passage Classifications: HR, R, I\nGroup Judgment: Consistent\nAnswer: 1871\nConfidence: 70%"
)


def test_the_compact_form_is_found_by_its_name_and_read_as_nova_is():
    assert find_strategy(NAME) is COMPACT
    reading = COMPACT.read(SAID, k=3)
    assert reading.judgment.passages == tuple(LETTERS)
    assert reading.judgment.group is EvidenceState.CONSISTENT
    assert (reading.answer, reading.confidence, reading.flaw) == ("1871", 0.7, None)


@pytest.mark.parametrize(
    ("said", "remark"),
    [
        (SAID.replace("HR, R, I", "HR, R"), "2 classes for 3 passages"),
        (SAID.replace("HR, R, I", "HR, Q, I"), "a passage class could not be read"),
        (SAID.replace("Consistent", "Fine"), "the group judgment is none of the three words"),
    ],
)
def test_what_is_wrong_with_a_compact_judgment_is_said(said, remark):
    reading = COMPACT.read(said, k=3)
    assert remark in reading.remarks
    assert reading.confidence == 0.7


def test_a_compact_reply_without_a_number_is_a_flaw():
    assert COMPACT.read(SAID.partition("\nConf")[0], k=3).flaw is Flaw.NO_CONFIDENCE


def test_the_prompt_begins_alike_for_all_questions_so_that_a_server_computes_it_once():
    one, other = (COMPACT.render(make_group(f"q{i}", "consistent")).text for i in (1, 2))
    shared = len(one) - len(one.partition("Question:")[2])
    assert one[:shared] == other[:shared]
    assert shared > len(one) / 2


def reply(group, *, right=True, percent=90, judged=True):
    classes = ", ".join(LETTERS[kind.utility] for kind in group.kinds)
    state = str(evidence_state(group)) if judged else "conflicting"
    return (
        f"Passage Classifications: {classes}\nGroup Judgment: {state.capitalize()}\n"
        f"Answer: {'1871' if right else '1999'}\nConfidence: {percent}%"
    )


def trials(questions=24):
    """Eight replies a group, with and without right judgments, sure and unsure, right and wrong."""
    groups = [make_group(f"q{i}", kind) for i in range(questions) for kind in KINDS]
    rows = []
    for place, group in enumerate(groups):
        for sample in range(8):
            said = reply(group, right=(place + sample) % 3 > 0, percent=100 - 20 * (sample % 4),
                         judged=sample < 5 or group.kind.value == "consistent")  # fmt: skip
            trial = make_trial(group, COMPACT, sample, Completion(text=said, model="base"))
            rows.append(to_row(trial, prompt_hash=COMPACT.render(group).hash))
    table = lay_out(rows, TRIALS)
    odds = np.random.default_rng(0).uniform(size=table.height)
    return groups, table.with_columns(likelihood=pl.Series(odds))


@pytest.mark.parametrize("arm", ARMS)
def test_rows_are_replies_of_the_model_itself_in_as_many_of_each_kind(arm):
    groups, table = trials()
    rows = arm_rows(arm, table, groups, rows=60)
    assert len(rows) == 60
    assert {kind: sum(r["kind"] == kind for r in rows) for kind in KINDS} == dict.fromkeys(
        KINDS, 20
    )
    said = set(table["reply"])
    if arm == "brier":
        assert all(r["completion"][0]["content"] in said for r in rows)
    if arm in {"state", "teacher"}:  # all but the number, which is a level
        heads = {text.rpartition(" ")[0] for text in said}
        assert all(r["completion"][0]["content"].rpartition(" ")[0] in heads for r in rows)
        assert {round(100 * r["confidence"]) % 10 for r in rows} == {5}
    if arm == "label-only":
        assert all("Judgment" not in r["completion"][0]["content"] for r in rows)
        assert all("Group Judgment" not in r["prompt"][0]["content"] for r in rows)


def test_the_paper_keeps_the_reply_whose_number_is_nearest_to_its_grade_and_its_judgments_are_right():
    _, table = trials()
    kept = kept_trials("brier", table, rows=10)
    assert (kept["group_right"] == kept["group_judged"]).all()
    distance = (kept["confidence"] - kept["correct"].cast(float)).abs()
    assert distance.max() < 0.5


def test_the_state_writes_the_share_of_right_answers_among_rightly_judged_ones():
    _, table = trials()
    shares = dict(zip(table["evidence"], state_shares(table), strict=True))
    judged = table.filter(
        (pl.col("evidence") == "insufficient") & (pl.col("group_right") == pl.col("group_judged"))
    )
    assert shares["insufficient"] == pytest.approx(judged["correct"].mean())


def test_without_a_rightly_judged_reply_there_are_no_rows():
    groups, table = trials(4)
    wrong = table.with_columns(passages_right=pl.lit(0, dtype=pl.Int16))
    with pytest.raises(DataError, match="judges its passages rightly"):
        arm_rows("brier", wrong, groups, rows=10)
    with pytest.raises(DataError, match="no arm 'soft'"):
        arm_rows("soft", table, groups, rows=10)


def test_where_too_few_replies_judge_every_passage_rightly_the_state_is_enough():
    groups, table = trials()
    assert filter_of(table, rows=60) == EVERY
    wrong = table.with_columns(passages_right=pl.lit(0, dtype=pl.Int16))
    assert filter_of(wrong, rows=60) == STATE
    rows = arm_rows("brier", wrong, groups, rows=60, judged=STATE)
    states = {r["group"]: r["completion"][0]["content"].split("\n")[1] for r in rows}
    truth = {g.id: f"Group Judgment: {str(evidence_state(g)).capitalize()}" for g in groups}
    assert len(rows) == 60
    assert all(truth[name] == state for name, state in states.items())


def test_a_packed_adapter_is_small_and_what_it_stands_for_stays_when_it_is_packed_again(tmp_path):
    rng = np.random.default_rng(0)
    weights = {"l.lora_A.weight": rng.normal(size=(4, 300)).astype(np.float32),
               "l.lora_B.weight": np.zeros((200, 4), dtype=np.float32)}  # fmt: skip
    adapters.write(tmp_path / "a.npz", weights, {"learnt": 100})
    assert (tmp_path / "a.npz").stat().st_size < 300 * 4 + 200 * 4 + 1500
    found, about = adapters.read(tmp_path / "a.npz")
    assert about == {"learnt": 100}
    assert np.abs(found["l.lora_A.weight"] - weights["l.lora_A.weight"]).max() < 0.02
    assert not found["l.lora_B.weight"].any()
    adapters.write(tmp_path / "b.npz", found, about)
    again, _ = adapters.read(tmp_path / "b.npz")
    assert all(np.allclose(again[name], found[name], atol=1e-6) for name in found)


def test_sampling_ends_with_the_rows_of_a_training(tmp_path, monkeypatch):
    store = Store(tmp_path)
    assert not teaching.has_rows_for_all(store, rows=12)
    _, found = trials()
    monkeypatch.setattr(Store, "read", lambda *_: found)
    enough = kept_trials("brier", found, rows=10**6).height
    assert teaching.has_rows_for_all(store, rows=enough)
    assert not teaching.has_rows_for_all(store, rows=enough + len(KINDS))


def test_a_machine_that_goes_on_samples_no_group_more_than_it_needs(monkeypatch):
    had = iter([False, False, True])
    monkeypatch.setattr(proof, "has_rows_for_all", lambda *_, **__: next(had))
    asked = []

    class Bench:
        store = None

        def ask(self, stages, at_most):
            asked.append((stages, at_most))
            return at_most

    proof.sample(Bench())
    assert asked == [([SAMPLE], proof.CHUNKS_BETWEEN)] * 2
