"""No message below the door names a flag or a verb: the library speaks Python."""

import ast
import re
from pathlib import Path

import pytest

import novarag

ROOT = Path(novarag.__file__).parent
SHELL = re.compile(r"(?<![-\w])--[a-z]|novarag [a-z]")

ALLOWED = {
    "__main__.py": "the option that is looked for before the command line is loaded",
    "datasets/clean_card.py": "the card of the benchmark, a file",
    "flows/committed.py": "arguments of git",
    "flows/estimate.py": "a note of the report, a file",
    "flows/reproduce/reproduce.py": "the commands on the page that is written",
    "report/comparison.py": "the first line of a comment, a file",
    "report/junit.py": "the name of a suite in a file",
    "gateway/admin/rolling.py": "the command that the parent of a gateway starts",
    "serving/preparing.py": "arguments of vLLM",
    "serving/options.py": "arguments of vLLM",
    "sft/card.py": "the data card, a file",
    "sft/export_folder.py": "the maker that a data card names",
    "sft/recipe.py": "comments in train.yaml",
    "sft/train/model_card.py": "the model card, a file",
    "sft/train/training.py": "the maker that a model card names",
    "study/ratings.py": "the name of a file format",
    "study/sheet.py": "the name of a file format",
}
"""Modules with texts that are no messages, and what these are."""


def literals(path):
    tree = ast.parse(path.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    notes = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}  # docstrings
    texts = [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [(n.lineno, n.value) for n in texts if id(n) not in notes]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("cli/"):
            yield name


def speaks_shell(name):
    return [(line, text) for line, text in literals(ROOT / name) if SHELL.search(text)]


def test_no_message_names_a_flag_or_a_verb():
    found = {name: speaks_shell(name) for name in modules() if name not in ALLOWED}
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_needed(name):
    assert speaks_shell(name)


@pytest.mark.parametrize("name", ALLOWED)
def test_not_even_there_does_an_error_name_one(name):
    tree = ast.parse((ROOT / name).read_text("utf-8"))
    raised = [n.exc for n in ast.walk(tree) if isinstance(n, ast.Raise) and n.exc]
    texts = [n.value for r in raised for n in ast.walk(r) if isinstance(n, ast.Constant)]
    assert not [text for text in texts if isinstance(text, str) and SHELL.search(text)]
