"""Tutorials keep what they say: as few lines as promised, and the output that they print."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "threshold.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_twelve_lines_make_a_live_answer_from_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = BLOCK.findall(PAGE.read_text("utf-8"))
    (_, history), (_, lines), (kind, printed) = found[:3]
    assert kind == "text"
    assert len([line for line in lines.splitlines() if line.strip()]) <= 12
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(history, {})
        exec(lines, {})
    assert said.getvalue() == printed
