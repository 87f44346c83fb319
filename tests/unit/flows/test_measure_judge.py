"""The verb `grading judge`: from a table with marks and labels to sentences and a page."""

import re

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag import Columns, DataError, measure_judge
from novarag.cli import app

HOSTILE = "<script>alert(1)</script>"


def table(folder, **more):
    people = ["ok", "ok", "bad", "bad", "ok"] * 8 + [None] * 60
    judge = [*people[:38], "bad", "bad", *["ok", "ok", "bad"] * 20]
    rows = {"verdict": people, "judge": judge, "doc": [f"d{n // 2}" for n in range(100)], **more}
    path = folder / "marks.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def run(*words):
    return CliRunner().invoke(app, ["grading", "judge", *map(str, words)])


def test_from_a_table_to_sentences_and_a_page(tmp_path):
    path = table(tmp_path, judge2=["ok"] * 40 + [None] * 60, lang=["en", HOSTILE] * 50)
    words = ("--mark", "judge", "--correct", "verdict", "--question", "doc", "--right", "ok")
    page = tmp_path / "judge.html"
    done = run(path, *words, "--repeat", "judge2", "--by", "lang", "--page", page)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert re.search(r"This judge saves \d+ % of the labels", said)
    assert "40 labelled rows of 20 sources" in said
    assert "of 100 rows" in said
    assert "Asked again, it says the same of 57.5 %" in said
    assert "A threshold from these marks alone promises nothing" in said
    html = page.read_text("utf-8")
    assert HOSTILE not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert html.count("<tr>") == 4  # a head, all rows, two languages


def test_python_and_the_shell_say_the_same(tmp_path):
    path = table(tmp_path)
    meant = Columns(correct="verdict", question="doc", right=("ok",))
    found = measure_judge(path, mark="judge", columns=meant)
    done = run(
        path, "--mark", "judge", "--correct", "verdict", "--question", "doc", "--right", "ok"
    )
    assert f"- {found.verdict}" in done.output
    assert measure_judge(pl.read_csv(path), mark="judge", columns=meant) == found


def test_rows_without_a_mark_are_left_out(tmp_path):
    marks = ["ok", "bad"] * 20 + [None] * 60
    found = measure_judge(
        table(tmp_path, judge=marks), mark="judge",
        columns=Columns(correct="verdict", right=("ok",)),
    )  # fmt: skip
    assert found.rate.rows == 40


def test_what_is_missing_is_named(tmp_path):
    path = table(tmp_path, empty=[None] * 100)
    done = run(path, "--mark", "nowhere", "--correct", "verdict", "--right", "ok")
    assert "column 'nowhere': there is no such column. Fix: pass --mark NAME" in str(done.exception)
    done = run(path, "--mark", "doc", "--correct", "verdict")
    assert "'d0' (2 rows" in str(done.exception)
    with pytest.raises(DataError, match="no row has both a mark and a label"):
        measure_judge(path, mark="judge", columns=Columns(correct="empty", right=("ok",)))
    few = {"m": [1, 0] * 5, "correct": [1, 0] * 5, "question": [n // 2 for n in range(10)]}
    with pytest.raises(DataError, match="labels of 5 sources say nothing"):
        measure_judge(few, mark="m")
    meant = Columns(correct="verdict", right=("ok",))
    with pytest.raises(DataError, match="'section': there is no such column"):
        measure_judge(path, mark="judge", by="section", columns=meant)
