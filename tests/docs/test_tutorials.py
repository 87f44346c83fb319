"""Tutorials keep what they say: as few lines as promised. What they print is held in `test_docs`."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "threshold.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_live_answer_needs_twelve_lines():
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert "answer(" in blocks[1]
    assert len([line for line in blocks[1].splitlines() if line.strip()]) <= 12
