"""The blocks of the page "From Python" that read the released benchmark."""

import re
from pathlib import Path

import pytest

import novarag

pytestmark = pytest.mark.data
PAGE = Path(__file__).parents[2] / "docs" / "from-python.md"


def test_reproduce(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOVARAG_DATA", str(data))
    text = PAGE.read_text("utf-8")
    block = re.search(
        r"^### paper reproduce$.*?^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )[1]
    exec(compile(block, str(PAGE), "exec"), {"novarag": novarag})  # the page imports it once
