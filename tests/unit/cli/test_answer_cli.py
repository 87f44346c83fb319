"""`novarag answer` with a calibration and a gate: one screen, and JSON with every field."""

import json
from dataclasses import fields

import pytest
from typer.testing import CliRunner

from novarag import Answer, UsageError
from novarag.calibration.graded_answers import AnswerSource
from novarag.cli import app
from novarag.cli.answer import screen
from novarag.flows.answerer import make_group
from novarag.flows.calibrate import save_calibration
from novarag.flows.gate import save_gate
from novarag.formatting import span, whole_percent
from novarag.records import Completion
from novarag.scoring import Exchange, Scorer
from novarag.strategies import NOVA
from tests.support.chaos.serving import chaos
from tests.support.live_parts import calibration, gate

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

GROUP = make_group("When was it lit?", ["It was lit in 1871."])
SOURCE = AnswerSource(model="chaos", prompt=NOVA.template.hash)
REPLY = "Passage Classifications: highly relevant\nGroup Judgment: consistent\nAnswer: 1871\nConfidence: 90%"


@pytest.fixture(scope="module")
def server():
    with chaos() as url:
        yield url


def run(*words):
    return CliRunner().invoke(app, ["answer", "When was it lit?", *words])


def scored(text=REPLY, **parts):
    said = Exchange(group=GROUP, completion=Completion(text=text, model="chaos"))
    return Scorer(NOVA, **parts, source="chaos").score(said)


def row(lines, name):
    (found,) = (line for line in lines if line.startswith(name))
    return found.removeprefix(name).strip()


def test_the_screen_goes_from_stated_to_calibrated_with_its_interval():
    found = scored(calibration=calibration(SOURCE))
    lines = screen(GROUP, [found], width=100)
    low, high = found.interval
    assert row(lines, "Stated") == "90 % █████████░"
    shown = row(lines, "Confidence")
    assert shown.startswith(f"{whole_percent(found.confidence)} ·")
    assert shown.endswith(f"{span(low, high, whole_percent)}, calibrated")
    drawn = shown.split()[2]
    assert (len(drawn), drawn.count("●")) == (20, 1)
    assert drawn.strip("·")[0] in "─●"
    assert abs(drawn.count("─") + 1 - 20 * (high - low)) <= 2
    assert not [line for line in lines if line.startswith(("Decision", "Note"))]


def test_the_screen_has_the_decision_and_its_reason():
    made = calibration(SOURCE)
    found = scored(calibration=made, gate=gate(0.6, made))
    held = scored(calibration=made, gate=gate(0.99, made))
    for one, action in ((found, "answer"), (held, "abstain")):
        shown = " ".join(" ".join(screen(GROUP, [one], width=160)).split())
        assert f"Decision {action}: {one.reason}" in shown


def test_without_a_calibration_the_screen_has_one_confidence():
    lines = screen(GROUP, [scored()], width=100)
    assert row(lines, "Confidence") == "90 % █████████░"
    assert not [line for line in lines if line.startswith(("Stated", "Decision", "Note"))]


def test_an_unread_reply_abstains_on_the_screen_too():
    lines = screen(GROUP, [scored("1871.", calibration=calibration(SOURCE))], width=100)
    assert row(lines, "Decision").startswith("abstain: the reply could not be read: ")


def test_answers_side_by_side_keep_their_columns():
    read, unread = scored(calibration=calibration(SOURCE)), scored("\x1b[31m")
    lines = screen(GROUP, [read, unread], width=120)
    assert row(lines, "Stated").split()[-1] == "—"
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 120


def test_json_has_every_field(server, tmp_path):
    save_calibration(calibration(SOURCE), tmp_path / "c.json")
    (tmp_path / "a.txt").write_text("The lighthouse was lit in 1871.")
    words = ["--model", f"{server}=chaos", "-p", str(tmp_path / "a.txt"), "--json"]
    save_gate(gate(0.6, calibration(SOURCE)), tmp_path / "g.json")
    parts = ["--calibration", str(tmp_path / "c.json"), "--gate", str(tmp_path / "g.json")]
    result = run(*words, *parts)
    assert result.exit_code == 0, result.output
    (facts,) = json.loads(result.output)
    assert {f.name for f in fields(Answer)} - {"trial", "judgments"} <= set(facts)
    assert len(facts["passages"]) == 1
    assert facts["calibrated"] is True
    low, high = facts["interval"]
    assert low <= facts["confidence"] <= high
    assert facts["decision"] == ("answer" if facts["confidence"] >= 0.6 else "abstain")
    assert facts["flaw"] is None


def test_a_calibration_of_another_prompt_is_refused_in_words_of_the_shell(server, tmp_path):
    save_calibration(calibration(SOURCE), tmp_path / "c.json")
    words = [
        "--model",
        f"{server}=chaos",
        "--calibration",
        str(tmp_path / "c.json"),
        "-s",
        "vanilla",
    ]
    result = run(*words)
    assert isinstance(result.exception, UsageError)
    assert "another prompt" in str(result.exception)
    (facts,) = json.loads(run(*words, "--other-source", "--json").output)
    assert "another prompt" in facts["notes"][0]


def test_a_file_that_is_no_calibration_is_named(server, tmp_path):
    (tmp_path / "c.json").write_text("{}")
    result = run("--model", f"{server}=chaos", "--calibration", str(tmp_path / "c.json"))
    assert "c.json: this is no calibration" in str(result.exception)
