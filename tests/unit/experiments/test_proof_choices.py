"""What the proof chooses on dev questions, and that nothing is chosen after the test."""

import json
from contextlib import nullcontext

import polars as pl
import pytest

from experiments.nova import choosing, costs, plan, proof, running
from novarag.errors import DataError


def figures(auroc, brier, error=0.01):
    return choosing.Measured(auroc=auroc, brier=brier, error=error, rows=400, accuracy=0.4)


def log_command(build, command, began="2026-11-17T10:00:00+00:00"):
    with (build / choosing.COMMANDS).open("a") as file:
        file.write(json.dumps({"command": command, "began": began}) + "\n")


def test_of_those_near_the_best_score_the_one_that_tells_most_is_chosen():
    near = {"flat": figures(0.5, 0.19), "sharp": figures(0.7, 0.199), "far": figures(0.9, 0.201)}
    assert choosing.choose(near) == "sharp"
    near["flat"] = figures(0.5, 0.19, error=0.02)  # the error is that of the best
    assert choosing.choose(near) == "far"


def test_an_even_number_for_all_is_measured_as_telling_nothing():
    right = [True, False] * 40
    rows = {"question": [f"q{i}" for i in range(80)], "correct": right}
    flat = choosing.measured(pl.DataFrame(rows | {"confidence": [0.9] * 80}))
    told = choosing.measured(pl.DataFrame(rows | {"confidence": [0.9, 0.6] * 40}))
    assert flat.auroc == 0.5
    assert flat.brier == pytest.approx(0.25, abs=0.02)
    assert told.auroc == 1.0
    assert told.brier < 0.05
    assert choosing.choose({"flat": flat, "told": told}) == "told"


def test_an_unread_reply_is_wrong_and_unsure():
    rows = {"question": [f"q{i}" for i in range(80)], "correct": [True, None] * 40}
    found = choosing.measured(pl.DataFrame(rows | {"confidence": [0.9, None] * 40}))
    assert (found.accuracy, found.auroc) == (0.5, 1.0)


def test_a_choice_is_logged_with_its_time_and_read_back(tmp_path):
    log_command(tmp_path, "novarag ask groups/dev.jsonl --out runs/dev-x")
    choosing.write_choice(tmp_path, "alignment", "share", {"share": {"auroc": 0.7}})
    assert choosing.choice_of(tmp_path, "alignment") == "share"
    assert choosing.choice_of(tmp_path, "final") is None
    assert choosing.first_test(tmp_path) is None
    choosing.check_times(tmp_path)


def test_nothing_is_chosen_once_a_test_question_was_asked(tmp_path):
    log_command(
        tmp_path, f"novarag ask groups/test-clean.jsonl --out {choosing.TEST}warm-nova-clean"
    )
    with pytest.raises(DataError, match="cannot be chosen any more"):
        choosing.write_choice(tmp_path, "final", "share", {})


def test_a_choice_later_than_the_first_test_request_fails_the_check(tmp_path):
    choosing.write_choice(tmp_path, "final", "share", {})
    log_command(tmp_path, f"novarag ask x --out {choosing.TEST}a", "2999-01-01T00:00:00+00:00")
    choosing.check_times(tmp_path)
    log_command(tmp_path, f"novarag ask x --out {choosing.TEST}b", "2001-01-01T00:00:00+00:00")
    with pytest.raises(DataError, match="were chosen after test questions were asked at 2001"):
        choosing.check_times(tmp_path)


def test_a_choice_that_was_made_twice_fails_the_check(tmp_path):
    for chosen in ("share", "soft"):
        choosing.write_choice(tmp_path, "alignment", chosen, {})
    with pytest.raises(DataError, match="chosen twice"):
        choosing.check_times(tmp_path)


@pytest.fixture(params=list(plan.PLANS))
def bench(request, tmp_path, monkeypatch):
    """A bench whose commands leave their results without doing anything; every run is asked."""
    made = running.Bench(
        tmp_path, tmp_path / "base", tmp_path / "vllm", plan.PLANS[request.param], 1
    )
    ran = []

    def run(self, *command, cwd=None):
        words = [str(word) for word in command]
        ran.append(words)
        self._log({"command": " ".join(words), "began": running.now()})
        if "--out" in words:
            out = tmp_path / words[words.index("--out") + 1]
            (out / "merged").mkdir(parents=True, exist_ok=True)
            (out / "train.jsonl").write_text("{}\n" * 100)
            (out / "estimates.parquet").touch()

    monkeypatch.setattr(running.Bench, "run", run)
    monkeypatch.setattr(running.Bench, "is_asked", lambda self, place: self.has(place))
    monkeypatch.setattr(running.Bench, "served", lambda _self, _who: nullcontext())
    monkeypatch.setattr(proof, "trials", lambda _place: _answers())
    groups = tmp_path / "groups"
    groups.mkdir()
    (groups / "graded.jsonl").write_text("{}\n" * max(plan.GRADED))
    (groups / "probed.jsonl").touch()
    last = tmp_path / f"warmup-{made.plan.parts}"
    last.mkdir()
    (last / "train.jsonl").write_text("{}\n" * 300)
    (tmp_path / "facts.json").write_text("{}")
    return made, ran


def _answers():
    right = [True, True, False] * 20
    sure = [0.9, 0.8, 0.3] * 20
    return pl.DataFrame(
        {"question": [f"q{i}" for i in range(60)], "correct": right, "confidence": sure}
    )


def test_all_stages_run_once_choices_first_and_nothing_is_done_again(bench):
    made, ran = bench
    for stage in proof.stages(made).values():
        stage()
    verbs = {" ".join(words[3:5]) for words in ran if words[2] == "novarag"}
    assert {"train fit", "train filter", "train export", "run estimate"} <= verbs
    assert {"ask", "calibrate"} <= {verb.split()[0] for verb in verbs}
    assert choosing.choice_of(made.build, "warm-up") == "warm-1"  # it reads: no second part
    assert choosing.choice_of(made.build, "final") is not None
    choosing.check_times(made.build)
    trained = [words for words in ran if words[3:5] == ["train", "fit"]]
    assert all("--batch" in words and "--epochs" in words for words in trained)
    assert "--mask-confidence" in trained[0]
    losses = [words[words.index("--loss") + 1] for words in trained if "--loss" in words]
    wanted = [made.plan.loss, "tokenized-brier"][: len(made.plan.confident)]
    assert losses[: len(wanted)] == wanted
    done = len(ran)
    for stage in proof.stages(made).values():
        stage()
    again = ran[done:]
    assert [words[2] for words in again] == ["experiments.nova.report"]


def test_no_test_question_is_asked_before_all_is_chosen(bench):
    made, ran = bench
    with pytest.raises(SystemExit, match="nothing is chosen yet"):
        proof.test(made)
    assert ran == []


def test_models_have_their_places_and_a_set_is_gone_through_until_enough_rows_were_seen(bench):
    made, _ = bench
    assert made.model("warm-1") == made.build / "warm-1"
    assert made.model("share") == made.build / "models" / "share"
    folder = made.build / "export-x"
    folder.mkdir()
    (folder / "train.jsonl").write_text("{}\n" * 1000)
    assert proof.epochs(made, "export-x", 250) == "0.250"
    assert proof.epochs(made, "export-x", 9000) == "2.000"


def test_a_number_alone_begins_from_samples_and_stands_beside_what_was_chosen_by_its_score():
    number = plan.PLANS["number"]
    assert number.whole == ["brier", "soft"]
    assert "--unjudged" in number.filters("brier")
    assert "--unfiltered" in number.filters("teacher")
    assert plan.PLANS["vanilla"].whole == ["share", "teacher"]
    assert plan.PLANS["nova"].filters("brier") == ()


def test_the_hours_of_a_number_alone_are_those_of_its_samples_and_its_training(tmp_path):
    (tmp_path / "facts.json").write_text('{"form": "vanilla", "plan": "number"}')
    commands = (
        "ask --out runs/sample ",
        "train --out models/confident-1 ",
        "train --out models/brier ",
    )
    rows = [{"command": command, "cpu_s": 3600} for command in commands]
    assert costs._chain(rows, tmp_path, "confident-1", {"sample": 7, "own": 9}) == (2, 7)
    assert costs._chain(rows, tmp_path, "brier", {"sample": 7}) == (2, 7)


def test_hours_are_those_of_the_commands_of_a_road():
    rows = [
        {"command": "novarag ask g --out runs/own --samples 4", "cpu_s": 600, "server_cpu_s": 1200},
        {"command": "novarag ask g --out runs/own-other", "cpu_s": 3600},
        {"command": "novarag ask g --out runs/own", "began": "x"},
    ]
    assert costs.hours(rows, ["--out runs/own "]) == 0.5


def test_what_is_gained_is_divided_by_what_it_took():
    gain = {"value": 0.3, "low": 0.2, "high": 0.4}
    made = [{"system": "a", "graded answers": 200, "processor hours": 0.5}]
    against = [{"against": "a", "brier": gain}, {"against": "a constant", "brier": gain}]
    [told] = costs.worth(against, made)
    assert told["for 100 graded answers"]["value"] == pytest.approx(0.15)
    assert told["for a processor hour"]["high"] == pytest.approx(0.8)
