"""A class has a name of its own: whoever reads it need not ask which of two is meant."""

import ast
from collections import defaultdict
from pathlib import Path

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


def classes(tree):
    """Return the names of the classes that a module defines, those inside others too."""
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def homes(trees):
    """Return the modules of each class name that more than one of them defines."""
    found = defaultdict(set)
    for path, tree in trees.items():
        for name in classes(tree):
            found[name].add(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_class_name_stands_twice_but_for_a_reason():
    trees = {
        path.relative_to(HOME).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in HOME.rglob("*.py")
    }
    assert homes(trees) == TWICE_FOR_A_REASON


def test_a_second_class_of_a_name_is_found():
    one, other = ast.parse("class Gate: ..."), ast.parse("def f():\n    class Gate: ...")
    assert homes({"a.py": one, "b.py": other}) == {"Gate": {"a.py", "b.py"}}
