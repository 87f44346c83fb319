"""Tutorials keep what they say: as few lines as promised, and the output that they print."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "threshold.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_prints_what_it_shows_and_needs_twelve_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = BLOCK.findall(PAGE.read_text("utf-8"))
    blocks = [block for kind, block in found if kind == "python"]
    assert len([line for line in blocks[1].splitlines() if line.strip()]) <= 12
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec("\n".join(blocks), {})
    assert said.getvalue() == "".join(block for kind, block in found if kind == "text")
