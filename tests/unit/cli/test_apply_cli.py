"""`novarag apply`: a calibration or a gate on new rows, as somebody at a shell has it."""

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag import apply_gate, write_example
from novarag.cli import app
from novarag.errors import UsageError

STATE = ("--state", "passages")


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with graded answers, a gate on stated confidences, and one on calibrated ones."""
    monkeypatch.chdir(tmp_path)
    write_example("answers.csv")
    rows = [
        f"q{i},{0.9 if i % 2 else 0.3},{i % 20 != 1 if i % 2 else i % 10 == 0}" for i in range(400)
    ]
    Path("honest.csv").write_text("question,confidence,correct\n" + "\n".join(rows), "utf-8")
    stated = ("--risk", "20%", "--out", "stated.json")
    assert call("gate", "honest.csv", "--source", "m", *stated).exit_code == 0
    both = ("--risk", "50%", "--split", "c.json", "--out", "calibrated.json")
    assert call("gate", "answers.csv", *STATE, *both).exit_code == 0
    return tmp_path


def test_a_gate_says_of_each_row_whether_it_may_be_given(desk):
    done = call("apply", "stated.json", "honest.csv", "--out", "o.csv")
    assert done.exit_code == 0, done.output
    made = pl.read_csv("o.csv")
    given = made.filter(pl.col("decision") == "answer")
    kept = made.filter(pl.col("decision") == "abstain")
    assert given.height
    assert kept.height
    assert given["confidence"].min() > kept["confidence"].max()
    assert kept["decision_reason"].str.contains("is below").all()
    assert "calibrated" not in made.columns


def test_a_gate_on_calibrated_confidences_wants_its_calibration(desk):
    words = ("apply", "calibrated.json", "answers.csv", *STATE, "--out", "o.csv")
    refused = call(*words).exception
    assert isinstance(refused, UsageError)
    assert "the gate was set on another calibration" in str(refused)
    assert "--calibration" in str(refused)
    assert call(*words, "--calibration", "c.json").exit_code == 0
    made = pl.read_csv("o.csv")
    given = made.filter(pl.col("decision") == "answer")
    kept = made.filter(pl.col("decision") == "abstain")
    assert given["calibrated"].min() > kept["calibrated"].max()


def test_a_calibration_goes_with_a_gate_alone(desk):
    refused = call("apply", "c.json", "answers.csv", "--calibration", "c.json", "--out", "o.csv")
    assert "--calibration goes with a gate, and c.json is none" in str(refused.exception)
    nothing = call("apply", "answers.csv", "answers.csv", "--out", "o.csv")
    assert "this is no calibration" in str(nothing.exception)


def test_answers_of_another_model_are_refused_unless_it_is_meant(desk):
    words = ("apply", "stated.json", "honest.csv", "--source", "other", "--out", "o.csv")
    assert "the gate was set on the model 'm'" in str(call(*words).exception)
    assert call(*words, "--other-source").exit_code == 0


def test_what_could_not_be_read_is_never_given():
    gate = pl.DataFrame({"confidence": [0.9] * 60, "correct": [True] * 60})
    from novarag import gate as set_gate

    made = set_gate(gate, risk=0.3)
    found = apply_gate(pl.DataFrame({"confidence": [0.95, None, 0.1]}), made)
    assert found["decision"].to_list() == ["answer", "abstain", "abstain"]
    assert found["decision_reason"][1] == "the reply could not be read"
