"""The recipe for a method is followed to the letter: a module of its own, and it is estimated."""

import importlib
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from novarag import METHODS, ScriptedLLM, estimate
from novarag.cli import app
from novarag.datasets.groups import group_line
from novarag.examples import EXAMPLE_GROUP
from novarag.strategies import VANILLA

ROOT = Path(__file__).parents[2]
PACKAGE = "recipe_of_an_uncertainty_method"


def recipe(heading):
    """Take the python block under a heading of CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.search(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write the recipe's block into a package of its own, and import it."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "methods.py").write_text(recipe("Add an uncertainty method"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield importlib.import_module(f"{PACKAGE}.methods")
    for name in (PACKAGE, f"{PACKAGE}.methods"):
        sys.modules.pop(name, None)


def test_a_method_of_the_recipe_stands_beside_ours(package):
    llm = ScriptedLLM(
        {"Brent Rock": ["Answer: 1871\nConfidence: 40%", "Answer: 1884\nConfidence: 9%"]}
    )
    methods = [METHODS["verbal"], METHODS["ensemble"], package.EAGER]
    found = estimate([EXAMPLE_GROUP], VANILLA, llm, methods=methods)
    assert list(found.trials) == ["verbal", "ensemble", "eager"]
    [trial] = found.trials["eager"]
    assert (trial.response.answer, trial.response.confidence) == ("1871", 0.5)
    assert trial.correct
    assert found.paid.calls == 2  # its two samples are among the ensemble's three
    assert found.costs["eager"].calls == 1


TABLE = f"""
title = "The recipe's method"
datasets = ["ours"]
metrics = ["brier"]
least = 10
replicates = 100
[[settings]]
groups = "file"
file = "groups.jsonl"
[[systems]]
name = "Verbal"
[[systems]]
name = "Eager"
method = "{PACKAGE}.methods:EAGER"
[model]
endpoints = ["simulated:base"]
"""


def test_a_method_of_the_recipe_stands_in_the_tables(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        replace(EXAMPLE_GROUP, id=f"g{i}", question=replace(EXAMPLE_GROUP.question, id=f"q{i}"))
        for i in range(12)
    ]
    (tmp_path / "groups.jsonl").write_bytes(b"".join(map(group_line, rows)))
    told = ["estimate", "groups.jsonl", "--model", "simulated:base", "--out", "estimated"]
    named = ["--method", "verbal", "--method", f"{PACKAGE}.methods:EAGER", "--replicates", "100"]
    result = CliRunner().invoke(app, [*told, *named])
    assert result.exit_code == 0, result.output
    assert "| eager | 12 | 12 |" in (tmp_path / "estimated/report/report.md").read_text("utf-8")
    (tmp_path / "table.toml").write_text(TABLE, encoding="utf-8")
    result = CliRunner().invoke(app, ["run", "table.toml"])
    assert result.exit_code == 0, result.output
    assert "| Eager | ours | 12 (12) |" in (tmp_path / "experiment/table.md").read_text("utf-8")


def test_every_method_has_its_row_on_the_page():
    page = (ROOT / "docs" / "uncertainty.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert rows == list(METHODS)
