"""Every public function is called in an example that is run: in a page or in its docstring."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import novarag

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FUNCTIONS = [name for name in novarag.__all__ if inspect.isfunction(getattr(novarag, name))]

TESTED = {
    "check_gateway": "tests/unit/gateway/test_settings.py",
    "check_serving": "tests/unit/flows/test_serving.py",
    "load_benchmark": "tests/unit/datasets/test_datasets.py",
    "run_table": "tests/unit/cli/test_reproduce_cli.py",
    "start_serving": "tests/unit/flows/test_serving.py",
}
"""Functions that need a server, a database or data for an example, and the tests that call them."""


def called(code):
    """Return the names of the functions that some code calls."""
    calls = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return {getattr(func, "id", None) or getattr(func, "attr", None) for func in calls}


def in_examples():
    """Return the names that blocks of pages call; tests run those marked `py` in their own way."""
    found = set()
    for page in PAGES:
        for _, code in BLOCK.findall(page.read_text("utf-8")):
            found |= called(code)
    return found


IN_EXAMPLES = in_examples()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_an_example_that_is_run(name):
    sync = name.removesuffix("_async")  # a twin is the same function, awaited
    known = {name, sync} & (IN_EXAMPLES | set(TESTED))
    assert known or ">>>" in (inspect.getdoc(getattr(novarag, name)) or "")


@pytest.mark.parametrize(("name", "file"), TESTED.items())
def test_the_tests_that_stand_for_an_example_call_the_function(name, file):
    assert name not in IN_EXAMPLES
    assert f"{name}(" in (ROOT / file).read_text("utf-8")
