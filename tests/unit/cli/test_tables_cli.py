"""Raw tables at the command line: one screen says what was taken, one error says what is open."""

import io
import sys
from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

from novarag import Columns, UsageError
from novarag.cli import app, main
from novarag.cli.tables import _OPTIONS, given_tables, make_columns
from novarag.cli.translate import say_flag

RAW = "Question;conf;thumbs\n" + "".join(
    f"q{i};{20 + i}%;{'up' if i % 3 else 'down'}\n" for i in range(60)
)
NAMED = ["--confidence", "conf", "--correct", "thumbs"]


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "prod.csv"
    path.write_text(RAW + 'q60;"";\U0001f44d\nq61;n/a;down\n', encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "verb",
    [
        ["measure", "--replicates", "100"],
        ["calibrate", "--out", "c.json"],
        ["gate", "--risk", "50%", "--out", "g.json"],
    ],
)
def test_every_verb_reads_the_raw_file_and_says_how(verb, raw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [verb[0], str(raw), *NAMED, *verb[1:]])
    assert done.exit_code in {0, 1}, done.output
    assert "62 rows, delimited by semicolons" in done.stderr
    assert "60 with their sign, such as 85%; 2 unread (empty 1, 'n/a' 1)" in done.stderr
    assert "41 right ('up' 40, '\U0001f44d' 1); 21 wrong ('down' 21)" in done.stderr
    assert "read: question: column 'Question', 62 different" in done.stderr


def test_a_log_is_picked_from_as_it_is(raw, tmp_path):
    sheet = tmp_path / "sheet"
    words = ["grading", "pick", str(raw), "--confidence", "conf", "--answer", "thumbs", "--n", "5"]
    done = CliRunner().invoke(app, [*words, "--out", str(sheet)])
    assert done.exit_code == 0, done.output
    assert "60 with their sign" in done.stderr


def test_standard_input_is_a_table(raw):
    words = ["measure", "-", *NAMED, "--replicates", "100"]
    done = CliRunner().invoke(app, words, input=raw.read_bytes())
    assert done.exit_code == 0, done.output
    assert "read: standard input: 62 rows" in done.stderr


def test_what_is_open_is_told_at_once_with_a_command_that_works(tmp_path, monkeypatch, capsys):
    path = tmp_path / "raw.csv"
    path.write_text(RAW.replace("q9;29%;down", "q9;high;meh").replace("q8;28%", "q8;1"))
    words = ["novarag", "measure", str(path), *NAMED, "--replicates", "100"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr().err.splitlines()
    assert left.value.code == 2
    assert said[0].endswith("raw.csv: 3 things are to be settled before this can be read.")
    assert "1 (row 9) without a sign" in said[1]
    assert "--value high=SHARE" in said[2]
    assert "'meh' (row 10) is neither right nor wrong. Fix: pass --ungraded meh" in said[3]
    example = " ".join(words) + " --out-of 1 --unread high --ungraded meh"
    assert said[4] == f"For example: {example}"
    monkeypatch.setattr(sys, "argv", example.split())
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0


def test_settings_are_flags_as_they_are_typed():
    assert say_flag("unread", ("a,b", 'c"d', "e")) == """--unread '"a,b","c""d",e'"""
    assert say_flag("right", (">=0.5",)) == "--right '>=0.5'"
    assert say_flag("values", {"high": "SHARE"}) == "--value high=SHARE"
    assert say_flag("out_of", 10) == "--out-of 10"
    made = make_columns(values=["high=90%,low=0.2", "1=100%"], unread=['"a,b",-1'], right=["4, 5"])
    assert made.values == {"high": 0.9, "low": 0.2, "1": 1.0}
    assert (made.unread, made.right) == (("a,b", "-1"), ("4", "5"))
    for wrong in ("high", "high=90", "high=x"):
        with pytest.raises(typer.BadParameter):
            make_columns(values=[wrong])
    with pytest.raises(UsageError, match="say different things"):
        make_columns(percent=True, mixed=True)


def test_every_field_has_one_option_and_its_default():
    assert set(_OPTIONS) == {field.name for field in fields(Columns)}
    assert make_columns() == Columns()


def test_only_a_dash_is_standard_input(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stream)
    assert given_tables(["a.csv", "-"]) == ["a.csv", stream.buffer]
