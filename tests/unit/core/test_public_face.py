"""The flat face: every public name is there, documented, and loads late."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

import pytest

import novarag
from tests.support.extras import NEED_EXTRAS

SNAPSHOT = sorted(novarag.__all__)


@pytest.mark.parametrize("name", SNAPSHOT)
def test_public_names_are_documented(name):
    value = getattr(novarag, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)
        assert value.__module__.startswith("novarag.")


FUNCTIONS = [name for name in SNAPSHOT if inspect.isfunction(getattr(novarag, name))]


def undescribed(function):
    """Return the parameters of a function that the `Args:` of its docstring leave out."""
    doc = inspect.getdoc(function) or ""
    part = re.search(r"^Args:\n((?:[ ]+.*\n?|\n)*)", doc, re.MULTILINE)
    described = re.findall(r"^ {4}(\w+):", part[1], re.MULTILINE) if part else []
    return set(inspect.signature(function).parameters) ^ set(described)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_public_function_is_described(name):
    assert undescribed(getattr(novarag, name)) == set()


def test_a_parameter_that_is_not_described_is_found():
    def careless(first, second):
        """Do something.

        Args:
            first: What comes first.
            third: What does not come.
        """

    assert undescribed(careless) == {"second", "third"}


def test_the_face_is_what_the_stub_lists():
    assert len(SNAPSHOT) > 150
    assert set(dir(novarag)) == {*SNAPSHOT, "__version__"}
    with pytest.raises(AttributeError, match="nonsense"):
        _ = novarag.nonsense


NOT_HERE = {"novarag.__main__", *NEED_EXTRAS}


def test_every_module_says_what_it_is_for():
    for module in pkgutil.walk_packages(novarag.__path__, "novarag."):
        if module.name not in NOT_HERE:
            assert importlib.import_module(module.name).__doc__, module.name


def test_help_loads_nothing_heavy():
    code = "import sys, novarag.cli; print([m for m in ('polars', 'numpy', 'scipy', 'jinja2') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"
