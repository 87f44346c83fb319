"""`novarag calibrate` and `measure --calibrate`, as somebody at a shell has them."""

from __future__ import annotations

from typer.testing import CliRunner

from novarag import write_example
from novarag.cli import app


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_file_is_calibrated_and_the_calibration_applied(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_example("answers.csv")
    fitted = call("calibrate", "answers.csv", "--state", "passages", "--out", "c.json",
                  "--page", "c.html", "--source", "m", "--prompt", "p")  # fmt: skip
    assert fitted.exit_code == 0, fitted.output
    assert "better than the stated confidence" in fitted.output
    assert "The calibration holds for the model 'm'" in fitted.output
    applied = call("apply", "c.json", "answers.csv", "--state", "passages",
                   "--out", "o.csv")  # fmt: skip
    assert applied.exit_code == 0, applied.output
    assert (tmp_path / "o.csv").read_text().splitlines()[0].endswith("calibration_note")


def test_measure_sets_both_beside_each_other(tmp_path):
    write_example(tmp_path / "answers.csv")
    found = call("measure", tmp_path / "answers.csv", "--calibrate", "--replicates", 100)
    assert found.exit_code == 0, found.output
    assert "- as stated: " in found.output
    assert "- calibrated: " in found.output
