"""Doors are thin: they parse, call a flow and print."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import novarag
from novarag.cli.verbs import VERBS

SOURCE = Path(novarag.__file__).parent
DOORS = sorted((SOURCE / "cli").glob("*.py"))
LONGEST, AVERAGE = 40, 130
TYPERS = {"Verbs": "TyperGroup", "PassingOn": "TyperCommand"}
CODES = {"ExitCode": "IntEnum"}
HEAVY = ("numpy", "polars", "scipy", "jinja2", "aiohttp", "orjson")


def functions(tree):
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_lines(function):
    """Count the lines of a body, without signature and docstring."""
    first = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else None
    start = (first or function.body[0]).lineno
    return function.end_lineno - start + 1


@pytest.mark.parametrize("door", DOORS, ids=lambda p: p.stem)
def test_bodies_are_short_and_no_class_but_typers_own_and_the_codes(door):
    tree = ast.parse(door.read_text("utf-8"))
    long = {f.name: body_lines(f) for f in functions(tree) if body_lines(f) > LONGEST}
    assert not long
    classes = {n.name: n.bases[0].id for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    assert classes.items() <= (TYPERS | CODES).items()


def test_a_verb_takes_few_lines():
    lines = sum(len(door.read_text("utf-8").splitlines()) for door in DOORS)
    assert lines / len(VERBS) <= AVERAGE


def test_nothing_but_main_imports_the_doors():
    guilty = []
    for file in SOURCE.rglob("*.py"):
        room = file.relative_to(SOURCE)
        if room.parts[0] in {"cli", "__main__.py"}:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            guilty += [str(room) for name in names if name.startswith("novarag.cli")]
    assert not guilty


def test_every_verb_has_a_module_of_its_name():
    names = {door.stem for door in DOORS}
    assert {verb.replace("-", "_") for verb in VERBS} <= names


@pytest.mark.parametrize("verb", [*VERBS, ""])
def test_help_imports_only_what_it_shows(verb):
    words = [*verb.split(), "--help"]
    code = (
        "import sys\n"
        "from novarag.cli import app\n"
        f"try: app({words!r})\n"
        "except SystemExit: pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
        "print(sorted(m[12:] for m in sys.modules if m.startswith('novarag.cli.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, doors = done.stderr.splitlines()[-2:]
    assert heavy == "[]"
    others = {one.replace("-", "_") for one in VERBS if one != verb}
    assert not set(ast.literal_eval(doors)) & others


def test_the_list_of_verbs_says_of_each_what_its_own_help_says_first():
    from typer.main import get_group

    from novarag.cli import app
    from novarag.cli.verbs import PANELS

    group = get_group(app)
    for verbs in PANELS.values():
        for name, summary in verbs.items():
            assert group.get_command(None, name).short_help == summary


def test_seven_verbs_stand_first_and_every_other_in_a_named_panel():
    from typer.testing import CliRunner

    from novarag.cli import app
    from novarag.cli.verbs import PANELS, VERBS

    shown = CliRunner().invoke(app, ["--help"]).output
    panels = [line.removesuffix(":") for line in shown.splitlines() if line.endswith(":")]
    assert panels == ["Options", *PANELS]
    assert len(PANELS["Start here"]) <= 7
    assert len(VERBS) == sum(len(verbs) for verbs in PANELS.values())
