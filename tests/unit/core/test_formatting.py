"""Numbers have one home for how they are written; a second one is found."""

import ast
import re
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


OTHER_PERCENTS = {
    "answers/cells/confidences.py": "a cell's own digits, as many as it has",
    "cli/translate.py": "an option as it is typed",
    "formatting.py": "the one home",
    "sft/examples.py": "a reply as a model is to write it",
}
"""Files that write a percent by themselves, each with its reason."""

BY_HUNDRED = re.compile(r"\b100(?:\.0)? \*|\* 100\b")


def own_percents(tree):
    """Find lines of f-strings that format a percent: by `%`, times 100, or as a number before %."""
    lines = set()
    for string in (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):
        for part, after in zip(string.values, [*string.values[1:], None], strict=True):
            if not isinstance(part, ast.FormattedValue):
                continue
            spec = ast.unparse(part.format_spec).strip("f'\"") if part.format_spec else ""
            text = after.value if isinstance(after, ast.Constant) else ""
            digits = part.format_spec is not None and text.startswith(("%", " %"))
            if spec.endswith("%") or digits or BY_HUNDRED.search(ast.unparse(part.value)):
                lines.add(part.lineno)
    return sorted(lines)


def test_no_percent_is_formatted_where_it_is_used():
    found = {
        str(path.relative_to(HOME)): own_percents(ast.parse(path.read_text("utf-8")))
        for path in HOME.rglob("*.py")
    }
    assert {path for path, lines in found.items() if lines} == OTHER_PERCENTS.keys()


@pytest.mark.parametrize(
    "line",
    [
        'f"{x:.0%} right"',
        'f"{100 * x:.1f} points"',
        'f"{x * 100:.0f}"',
        'f"{x:.0f} % right"',
        'f"{x:.{n}%}"',
    ],
)
def test_a_percent_of_its_own_is_found(line):
    assert own_percents(ast.parse(line)) == [1]


def test_other_numbers_are_left_alone():
    assert own_percents(ast.parse('f"{a:.3f} {b:,} of {percent(c)}"; 100 * x; "%d %%"')) == []


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
