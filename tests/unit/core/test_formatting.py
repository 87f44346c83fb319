"""Numbers have one home for how they are written; a second one is found."""

import ast
from pathlib import Path

import pytest

import novarag
from novarag.formatting import fixed_percent, percent, short_percent, signed, span, whole_percent

HOME = Path(novarag.__file__).parent
NAMES = {"percent", "fixed_percent", "short_percent", "whole_percent", "signed", "points"}
"""`span` of a metric stands in `report/words.py`: it writes by the metric's name."""


def second_homes(module, tree):
    """Name the formatters that a module defines for itself."""
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return sorted(defined & NAMES) if module != "formatting.py" else []


def test_shares_and_differences_are_written_in_one_place():
    found = {
        str(path.relative_to(HOME)): second_homes(path.name, ast.parse(path.read_text("utf-8")))
        for path in HOME.rglob("*.py")
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_a_second_place_is_found():
    assert second_homes("page.py", ast.parse("def percent(x): ...")) == ["percent"]


@pytest.mark.parametrize(
    ("write", "written"),
    [
        (percent, "99.75 %"),
        (short_percent, "99.8 %"),
        (fixed_percent, "99.8 %"),
        (whole_percent, "100 %"),
    ],
)
def test_each_percent_says_how_many_decimals_it_has(write, written):
    assert write(0.9975) == written


def test_what_is_no_number_has_no_digits():
    assert [fixed_percent(None), signed(float("nan")), span(None, 0.5)] == ["\u2013", "\u2013", ""]
