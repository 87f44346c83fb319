"""What a verb prints last leads on: a command that can be typed as it stands, and works."""

import shlex

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from novarag.answers.opening.columns import Columns
from novarag.cli import app
from novarag.cli.next_step import table_words
from validation.ten_minutes import fill_in, lead

run = CliRunner().invoke


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    stated = rng.choice([70, 80, 95], 500)
    right = rng.random(500) < np.where(stated == 95, 0.99, 0.4)
    pl.DataFrame(
        {"sure": [f"{s}%" for s in stated], "my thumbs": np.where(right, "up", "down")}
        | {"bot": rng.choice(["a", "b"], 500)}
    ).write_csv("prod.csv")
    return tmp_path


def test_a_column_of_grades_is_proposed_where_the_named_one_is_missing(desk):
    done = run(app, ["measure", "prod.csv", "--confidence", "sure"])
    assert done.exit_code == 1
    assert "pass --correct 'my thumbs' if that says it" in str(done.exception)
    assert done.exception.example() == {"correct": "my thumbs"}
    pl.read_csv("prod.csv").with_columns(other=pl.col("my thumbs")).write_csv("two.csv")
    two = run(app, ["measure", "two.csv", "--confidence", "sure"]).exception
    assert two.example() == {}  # which of the two is meant is not guessed
    assert "pass --correct NAME" in str(two)


TOLD = ["--confidence", "sure", "--correct", "my thumbs"]


def test_measure_leads_to_a_gate_and_a_gate_to_an_answer(desk):
    done = run(app, ["measure", "prod.csv", *TOLD, "--replicates", "100"])
    assert done.exit_code == 0, done.output
    then = lead(done.stderr)
    assert then == (
        "novarag gate prod.csv --confidence sure --correct 'my thumbs' --risk 10%"
        " --split calibration.json --out gate.json"
    )
    assert "next:" not in done.stdout  # sentences alone, for whoever pipes them
    made = run(app, shlex.split(then)[1:])
    assert made.exit_code == 0, made.output
    live = shlex.split(fill_in(lead(made.stderr), "http://h/v1=m"))
    assert live[:3] == ["novarag", "answer", "How do I reset device 12?"]
    assert live[-4:] == ["--calibration", "calibration.json", "--gate", "gate.json"]


def test_groups_lead_to_a_page_and_few_rows_to_more_grades(desk):
    by = run(app, ["measure", "prod.csv", *TOLD, "--by", "bot", "--replicates", "100"])
    assert lead(by.stderr).endswith("--correct 'my thumbs' --by bot --out report")
    paged = [*TOLD, "--by", "bot", "--replicates", "100", "--out", "out"]
    assert "next: open out/report.html" in run(app, ["measure", "prod.csv", *paged]).stderr
    pl.read_csv("prod.csv").head(9).write_csv("few.csv")
    few = run(app, ["measure", "few.csv", *TOLD])
    assert lead(few.stderr) == "novarag grading pick few.csv --confidence sure --out sheet"
    refused = run(app, ["gate", "prod.csv", *TOLD, "--risk", "1%", "--out", "g.json"])
    assert refused.exit_code == 1
    assert lead(refused.stderr) == "novarag grading pick prod.csv --confidence sure --out sheet"


def test_a_calibration_leads_to_an_answer(desk):
    done = run(app, ["calibrate", "prod.csv", *TOLD, "--out", "my c.json"])
    assert shlex.split(lead(done.stderr))[-2:] == ["--calibration", "my c.json"]


def test_what_was_said_of_a_table_is_said_again():
    said = Columns(correct="stars", right=("4", "5"), percent=True, values={"high": 0.9})
    assert table_words(["a b.csv"], said, reader="cot") == (
        "'a b.csv' --correct stars --percent --value high=90% --right 4,5 --reader cot"
    )
    assert table_words(["-"], said) is None  # standard input is gone


def test_calibrated_beside_stated_begins_with_a_verdict(desk):
    done = run(app, ["measure", "prod.csv", *TOLD, "--calibrate", "--replicates", "100"])
    first, second, third = done.stdout.splitlines()[:3]
    assert first.startswith("- As stated: do not act on this confidence")
    assert " Calibrated: it promises " in first
    assert " Calibrating changes Brier from 0." in first
    assert second.startswith("- as stated: ")
    assert third.startswith("- calibrated: ")
    assert "wrong" in third
