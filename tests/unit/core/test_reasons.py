"""Regexes and numbers at the top of a module say beside them what they are for."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import novarag

HOME = Path(novarag.__file__).parent
SILENT = re.compile(r"# (?:fmt|type|noqa|ruff|pragma|pyright)\b")
"""Comments that speak to a tool, and give no reason."""


def is_number(value):
    """Say whether an expression is a number, or arithmetic on numbers."""
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return is_number(value.left) and is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) in {int, float}


def holds_regex(value):
    """Say whether an expression compiles a regex anywhere."""
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
        for node in ast.walk(value)
    )


def without_reason(source):
    """Name regexes and numbers without a comment, a docstring or a comment on their family."""
    body = ast.parse(source).body
    comments, alone = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not SILENT.match(token.string):
            comments.add(token.start[0])
            if token.line.lstrip().startswith("#"):
                alone.add(token.start[0])
    missing, family, end = [], False, 0
    for node, after in zip(body, [*body[1:], None], strict=True):
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if value is None or not (is_number(value) or holds_regex(value)):
            continue
        joined = family and node.lineno == end + 1
        family, end = joined or node.lineno - 1 in alone, node.end_lineno
        said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if not (family or said or comments.intersection(range(node.lineno, end + 1))):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            missing.append(ast.unparse(target))
    return missing


def test_every_regex_and_number_has_a_reason_beside_it():
    found = {
        str(path.relative_to(HOME)): without_reason(path.read_text("utf-8"))
        for path in sorted(HOME.rglob("*.py"))
    }
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("A = 5", ["A"]),
        ("A = -1 << 20  # noqa: X", ["A"]),
        ("A: int = 5  # rows", []),
        ('A = 5\n"""Rows."""', []),
        ("# Rows and columns.\nA = 5\nB = re.compile('b')", []),
        ("# Rows.\nA = 5\n\nB = 6", ["B"]),
        ("# Rows.\n\nA = 5", ["A"]),
        ("A = 5  # rows\nB = {'x': re.compile('b')}", ["B"]),
        ("A = 'text'\nB = [1, 2]\nC = True", []),
    ],
)
def test_what_has_no_reason_is_found(source, missing):
    assert without_reason(source) == missing
