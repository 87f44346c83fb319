"""The script that type checkers read calls every public function, each as its parameters want."""

import ast
import inspect
from pathlib import Path

import pytest

import novarag

SCRIPT = Path(__file__).parents[2] / "typing" / "every_function.py"
FUNCTIONS = {name for name in novarag.__all__ if inspect.isfunction(getattr(novarag, name))}


def calls(text):
    """Yield each call of a function of `novarag` by its name."""
    for node in ast.walk(ast.parse(text)):
        function = node.func if isinstance(node, ast.Call) else None
        of = function.value if isinstance(function, ast.Attribute) else None
        if isinstance(of, ast.Name) and of.id == "novarag":
            yield function.attr, node


CALLS = list(calls(SCRIPT.read_text("utf-8")))


def test_every_public_function_is_called():
    assert len(FUNCTIONS) > 80
    assert FUNCTIONS - {name for name, _ in CALLS} == set()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_call_gives_parameters_that_there_are(name):
    signature = inspect.signature(getattr(novarag, name))
    for called, node in CALLS:
        if called == name:
            signature.bind(*node.args, **{word.arg: word.value for word in node.keywords})


def test_a_function_that_is_not_called_is_missed():
    assert [name for name, _ in calls("novarag.ask(1, novarag.read('x'))\nask(2)")] == [
        "ask",
        "read",
    ]
