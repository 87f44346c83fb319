"""The flat face: every public name is there, documented, and loads late."""

import importlib
import inspect
import pkgutil
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
