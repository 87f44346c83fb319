"""A class or a type has a name of its own: a reader need not ask which of two is meant."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import novarag

HOME = Path(novarag.__file__).parent

TWICE_FOR_A_REASON = {
    # each is the one class of its adapter, loaded by the tool that it is written for, and never
    # beside another; users read it after the tool's own package
    "StatedConfidence": {
        "integrations/deepeval.py",
        "integrations/haystack.py",
        "integrations/llamaindex.py",
        "integrations/ragas.py",
    },
}
"""Names that several modules define, with the modules; the reason stands beside each."""


TYPE_ALIAS = re.compile(r"_?[A-Z]\w*[a-z]\w*")


def names(tree):
    """Return the names of classes and of a module's type aliases, without a leading underscore."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    blocks = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))]
    for node in (node for block in blocks for node in block):
        if isinstance(node, ast.Assign) and not is_type_variable(node.value):
            named = (target.id for target in node.targets if isinstance(target, ast.Name))
            found |= {name for name in named if TYPE_ALIAS.fullmatch(name)}
    return {name.removeprefix("_") for name in found}


def is_type_variable(value):
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") == "TypeVar"


def homes(trees):
    """Return the modules of each name that more than one of them defines."""
    found = defaultdict(set)
    for path, tree in trees.items():
        for name in names(tree):
            found[name].add(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_name_of_a_class_or_a_type_stands_twice_but_for_a_reason():
    trees = {
        path.relative_to(HOME).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in HOME.rglob("*.py")
    }
    assert homes(trees) == TWICE_FOR_A_REASON


@pytest.mark.parametrize(
    "other",
    [
        "def f():\n    class Gate: ...",
        "class _Gate: ...",
        "Gate = str | None",
        "if TYPE_CHECKING:\n    Gate = dict[str, int]",
    ],
)
def test_a_second_meaning_of_a_name_is_found(other):
    found = homes({"a.py": ast.parse("class Gate: ..."), "b.py": ast.parse(other)})
    assert found == {"Gate": {"a.py", "b.py"}}
