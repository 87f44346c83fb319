"""The stages of the proof on a model that reads: planned by figures, taken up from results alone."""

import os
import shutil
import subprocess
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import polars as pl
import pytest

from experiments.nova_qwen import choices, plan, proof, speeds, teaching
from experiments.nova_qwen.figures import agreement, figures
from experiments.nova_qwen.looks import Look, is_over, last_sound
from experiments.nova_qwen.serving import Server, step_back
from experiments.nova_qwen.store import Asking, Store
from novarag.errors import DataError
from novarag.flows.group import write_groups
from novarag.noise.group_build import GroupBuild
from tests.support.filtered_folder import KINDS, make_group

pytestmark = pytest.mark.enable_socket  # an event loop makes a pair of them
GROUPS = [make_group(f"q{i}", kind) for i in range(4) for kind in KINDS]
LOOK = Asking(name="look-x", who="base", split="look", strategy="vanilla", longest=60, chunk=5)


class FakeServer(Server):
    """No server: simulated respondents answer."""

    url = "simulated:base"

    def seconds(self):
        return 7


def bench_at(place, results, minutes=1.0):
    build = place / "build"
    write_groups(GroupBuild(groups=GROUPS), build / "groups" / "look.jsonl")
    deadline = time.monotonic() + 60 * minutes
    bench = proof.Bench(build, FakeServer(place), Store(results), deadline)
    bench.serve = lambda who: served.append(who)
    served.clear()
    return bench


served = []


def test_a_stage_that_was_killed_goes_on_from_results_alone(tmp_path):
    first = bench_at(tmp_path / "one", tmp_path / "one" / "results")
    first.ask([LOOK])
    whole = first.store.read(LOOK, GROUPS)
    assert served == ["base"] * 3  # twelve groups, five a chunk
    kept = tmp_path / "two" / "results"
    shutil.copytree(first.store.place, kept)
    first.store.file(LOOK, 1).rename(tmp_path / "asked later")
    (kept / "replies" / LOOK.name / "001.parquet").unlink()
    second = bench_at(tmp_path / "two", kept)
    second.ask([LOOK])
    assert served == ["base"]
    again = second.store.read(LOOK, GROUPS)
    key = ["group", "sample"]
    assert again.sort(key).select("group", "reply").equals(whole.sort(key).select("group", "reply"))
    second.ask([LOOK])
    assert served == ["base"]
    assert [row["chunk"] for row in second.store.rows()] == [0, 1, 2, 1]


def test_no_unit_begins_when_the_minutes_are_used(tmp_path):
    bench = bench_at(tmp_path, tmp_path / "results", minutes=0)
    with pytest.raises(proof.TimeIsUp):
        bench.ask([LOOK])
    assert served == []


def test_replies_to_other_groups_are_not_believed(tmp_path):
    bench = bench_at(tmp_path, tmp_path / "results")
    bench.ask([LOOK])
    with pytest.raises(DataError, match="not those of its groups"):
        bench.store.read(LOOK, GROUPS[1:])
    with pytest.raises(DataError, match="nothing of 'sample' was asked"):
        bench.store.read(plan.SAMPLE)


def test_a_table_that_was_cut_off_is_not_there(tmp_path):
    store = Store(tmp_path)
    store.file(LOOK, 0).parent.mkdir(parents=True)
    with suppress(KeyboardInterrupt), store.whole(store.file(LOOK, 0)) as draft:
        draft.write_text("half")
        raise KeyboardInterrupt
    assert draft.exists()
    assert [number for number, _ in store.left(LOOK, GROUPS)] == [0, 1, 2]


def test_hours_are_those_of_the_same_strategy_where_it_was_measured():
    stages = [plan.asking("look-vanilla", "base", "look", "vanilla"),
              plan.asking("test-vanilla", "base", "test", "vanilla"),
              plan.asking("test-nova", "base", "test", "nova")]  # fmt: skip
    log = [{"stage": "look-vanilla", "groups": 20, "cpu_s": 100}, {"choice": "prompt"},
           {"stage": "look-vanilla", "groups": 20, "cpu_s": 300}]  # fmt: skip
    look, test, nova = plan.left_to_ask(stages, {"look": 100, "test": 360}, log)
    assert (look.done, look.whole, look.each, look.measured) == (40, 100, 10.0, True)
    assert (test.done, test.each, test.hours) == (0, 10.0, 0.5)
    assert not nova.measured
    shown = plan.table([look, test, nova])
    assert "| look-vanilla | 40 | 100 | 10.0 | 0.08 |" in shown
    assert "(guessed)" in shown


def test_hours_of_trainings_are_measured_from_their_parts():
    before = plan.left_to_train([])
    assert [row.measured for row in before] == [False] * 4
    log = [
        {"stage": "train-brier", "part": 0, "rows": 100, "of": 600, "cpu_s": 2000, "over": False}
    ]
    brier, state, *_ = plan.left_to_train(log)
    assert (brier.done, brier.whole, brier.each) == (100, 600, 20.0)
    assert (state.done, state.whole, state.each, state.measured) == (0, plan.ROWS, 20.0, True)


def test_every_stage_has_a_name_of_its_own_and_trained_arms_answer_by_what_they_learnt():
    names = [a.name for a in plan.askings()]
    assert len(set(names)) == len(names)
    assert {a.strategy for a in plan.askings() if a.who == "label-only"} == {"label-only"}
    assert all(a.split.startswith("test") for a in plan.test())
    assert all(a.name.startswith(choices.TEST) == a.is_test for a in plan.askings())


def test_nothing_is_chosen_after_a_test_question_or_twice(tmp_path):
    store = Store(tmp_path)
    choices.write(store, "prompt", "vanilla", "a rule", {})
    assert choices.chosen(store, "prompt") == "vanilla"
    with pytest.raises(DataError, match="was chosen before"):
        choices.write(store, "prompt", "cot", "a rule", {})
    store.log(stage="test-vanilla", chunk=0)
    with pytest.raises(DataError, match="after test questions"):
        choices.write(store, "arm", "state", "a rule", {})


def test_no_test_question_is_asked_before_all_is_chosen(tmp_path):
    bench = bench_at(tmp_path, tmp_path / "results")
    choices.write(bench.store, choices.PROMPT, "vanilla", "a rule", {})
    with pytest.raises(SystemExit, match="nothing is chosen yet"):
        proof.tested(bench)


def test_two_low_looks_in_a_row_end_a_training_and_the_last_sound_one_is_kept():
    looks = [
        Look(rows, right, 1.0, 0.5)
        for rows, right in ((0, 0.6), (50, 0.62), (100, 0.5), (150, 0.6))
    ]
    assert not is_over(looks)
    low = [*looks, Look(200, 0.5, 1.0, 0.5), Look(250, 0.4, 1.0, 0.5)]
    assert is_over(low)
    assert last_sound(low) == 150


def test_a_training_is_taken_up_from_the_log_and_the_adapter_in_results(tmp_path, monkeypatch):
    bench = bench_at(tmp_path, tmp_path / "results")
    rows = [{"row": i} for i in range(250)]
    begun = []

    def fake(bench, arm, rows, learnt, rate):
        begun.append((len(rows), learnt))
        place = bench.build / "training" / arm / "looks"
        place.mkdir(parents=True, exist_ok=True)
        after = learnt + len(rows)
        teaching.adapters.write(place / f"{after}.npz", {}, {"learnt": after})
        return {"looks": [Look(after, 0.6, 1.0, 0.5)], "loss": 1.0, "tokens": 9, "cpu_s": 1}

    monkeypatch.setattr(teaching, "make_rows", lambda bench, arm: rows)
    monkeypatch.setattr(teaching, "train_part", fake)
    bench.deadline = time.monotonic() + 60
    checks = iter([None, proof.TimeIsUp()])

    def check():
        if (stop := next(checks)) is not None:
            raise stop

    bench.check = check
    with pytest.raises(proof.TimeIsUp):
        teaching.train_arm(bench, "brier")
    assert begun == [(100, 0)]
    other = bench_at(tmp_path / "other", bench.store.place)
    teaching.train_arm(other, "brier")
    assert begun == [(100, 0), (100, 100), (50, 200)]
    assert teaching.progress(other.store, "brier")[0] == 250
    teaching.train_arm(other, "brier")
    assert len(begun) == 3


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="priorities of Linux")
def test_a_process_that_steps_back_takes_only_what_nobody_wants_and_leaves_our_session_alone():
    ours = Path("/proc/self/autogroup")
    before = ours.read_text("utf-8") if ours.exists() else ""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        step_back(child.pid)
        assert os.sched_getscheduler(child.pid) == os.SCHED_IDLE
        assert os.getpriority(os.PRIO_PROCESS, child.pid) == 19
        if before:
            assert "nice 19" in Path(f"/proc/{child.pid}/autogroup").read_text("utf-8")
        child.kill()
    if before:
        assert ours.read_text("utf-8") == before


def test_the_compiled_server_is_taken_where_it_was_measured_to_write_faster():
    def wrote(speed):
        return {"written at 8": {"per_second": speed}}

    assert speeds.is_worth_compiling({speeds.EAGER: wrote(9), speeds.COMPILED: wrote(12)})
    for known in (
        {},
        {speeds.COMPILED: wrote(12)},
        {speeds.EAGER: wrote(9), speeds.COMPILED: wrote(8)},
    ):
        assert not speeds.is_worth_compiling(known)


def test_a_server_that_does_not_come_up_is_written_down_and_the_others_are_measured(
    tmp_path, monkeypatch
):
    bench = bench_at(tmp_path, tmp_path / "results")

    def up(self, model, *, compiled):
        if compiled:
            raise subprocess.CalledProcessError(1, "serve")
        return nullcontext()

    monkeypatch.setattr(FakeServer, "up", up, raising=False)
    monkeypatch.setattr(proof, "weights_of", lambda who, *_: Path(who))
    monkeypatch.setattr(speeds, "measure", lambda *_: {"written at 8": {"per_second": 9.0}})
    proof.measure(bench)
    known = bench.store.read_json(speeds.FILE)
    assert "CalledProcessError" in known[speeds.COMPILED]["failed"]
    assert known["float32, eager"] == known[speeds.EAGER]
    assert not speeds.is_worth_compiling(known)


def test_int8_and_float32_are_held_against_each_other_group_by_group():
    one = pl.DataFrame({"group": ["a", "b"], "answer": ["The Paris", None], "evidence": ["consistent", None], "correct": [True, None]})  # fmt: skip
    other = pl.DataFrame({"group": ["b", "a"], "answer": ["Lyon", "paris"], "evidence": [None, "conflicting"], "correct": [True, True]})  # fmt: skip
    said = agreement(one, other)
    assert (
        said
        == "of 2 groups, int8 and float32 give the same answer in 1, the same state in 1, the same grade in 1"
    )
    assert agreement(one, other.filter(pl.col("group") == "c")) == "no group was asked of both"


def test_figures_count_unread_replies_as_wrong_and_unjudged_groups_as_misjudged(tmp_path):
    table = pl.DataFrame({
        "group": ["a", "b", "c", "d"], "kind": ["consistent", "consistent", "counterfactual", "irrelevant"],
        "correct": [True, None, False, False], "confidence": [1.0, None, 1.0, 0.5],
        "flaw": [None, "no answer", None, None], "likelihood": [0.9, None, 0.5, 0.2],
        "group_judged": [1, None, 1, 1], "group_right": [1, None, 0, 1],
        "passages_judged": [3, None, 3, 3], "passages_right": [3, None, 0, 3],
    })  # fmt: skip
    found = figures(table)
    assert (found.read, found.accuracy, found.judged) == (0.75, 0.25, 0.5)
    assert found.right == {"consistent": 0.5, "counterfactual": 0.0, "irrelevant": 0.0}
    assert found.brier == pytest.approx((0 + 0 + 1 + 0.25) / 4)
    assert found.constant == pytest.approx(0.25 * 0.75)
