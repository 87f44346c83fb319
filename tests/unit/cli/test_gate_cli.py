"""`novarag gate`, as somebody at a shell has it."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from novarag import load_gate, write_example
from novarag.cli import app
from novarag.cli.shares import parse_share


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_threshold_or_an_honest_no(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_example("answers.csv")
    made = call("gate", "answers.csv", "--risk", "60 %", "--out", "g.json", "--page", "g.html")
    assert made.exit_code == 0, made.output
    assert "at most 60 % are wrong, with 90 % probability" in made.output
    assert load_gate("g.json").risk == 0.6
    no = call(
        "gate", "answers.csv", "--risk", "0.01", "--confidence-level", "95%", "--out", "no.json"
    )
    assert no.exit_code == 1, no.output
    assert "Not attainable: these rows could certify" in no.output
    assert load_gate("no.json").confidence_level == 0.95


def test_a_bare_number_of_percent_is_refused_with_a_hint(tmp_path):
    write_example(tmp_path / "answers.csv")
    no = call("gate", tmp_path / "answers.csv", "--risk", "10", "--out", tmp_path / "g.json")
    assert no.exit_code == 2
    assert "write 10%" in no.output
    assert not (tmp_path / "g.json").exists()


@pytest.mark.parametrize("text", ["10%", "10 %", "0.1", " .1 ", "10.0%"])
def test_reads_a_share(text):
    assert parse_share(text) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "text", ["10", "1", "0", "0%", "100%", "", "%", "-5%", "ten", "nan", "1e-1", "٣%"]
)
def test_refuses_what_is_no_share(text):
    with pytest.raises(typer.BadParameter):
        parse_share(text)
