"""No file of ours imports itself, not even through others."""

import ast
from collections.abc import Iterator
from pathlib import Path

import novarag

SOURCE = Path(novarag.__file__).parent


def _modules() -> dict[str, ast.Module]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("novarag", *path.relative_to(SOURCE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text("utf-8"))
    assert len(found) > 200
    return found


def _imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield what is imported as a module is loaded: not in functions, not for type checkers."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _imports(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ("body", "orelse", "finalbody", "handlers"):
                yield from _imports(getattr(node, part, []))


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert not node.level, "imports are absolute here"
    return [f"{node.module}.{alias.name}" for alias in node.names] + [str(node.module)]


def graph(modules: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Say which modules each module imports; a module of a package is not the package itself."""
    found = {}
    for name, tree in modules.items():
        found[name] = set()
        for node in _imports(tree.body):
            ours = [n for n in _names(node) if n in modules]
            inner = isinstance(node, ast.ImportFrom) and len(ours) == len(node.names) + 1
            found[name].update(ours[:-1] if inner else ours)
    return found


def cycles(imported: dict[str, set[str]]) -> set[str]:
    """Return the modules that stand in a cycle, or import one that does."""
    left = {name: set(names) for name, names in imported.items()}
    while free := {name for name, names in left.items() if not names}:
        left = {name: names - free for name, names in left.items() if name not in free}
    return set(left)


def test_no_file_imports_itself_through_others():
    assert cycles(graph(_modules())) == set()


def test_a_cycle_is_found():
    told = {
        "a": "from b import x",
        "b": "try:\n    import c\nexcept ImportError:\n    pass",
        "c": "class A:\n    from a import y",
        "d": "def f():\n    import a",
        "e": "if TYPE_CHECKING:\n    import e",
        "f": "import d\nfrom e import z",
    }
    assert cycles(graph({name: ast.parse(text) for name, text in told.items()})) == {"a", "b", "c"}


def test_no_file_is_longer_than_one_sitting():
    """A module has one idea, and a reader holds it whole."""
    lines = {p: len(p.read_text("utf-8").splitlines()) for p in SOURCE.rglob("*.py")}
    assert not {path.name: count for path, count in lines.items() if count > 400}
