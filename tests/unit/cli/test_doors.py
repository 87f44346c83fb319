"""Doors are thin: they parse, call a flow and print."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import novarag
from novarag.cli import app
from novarag.cli.exit_codes import ExitCode
from novarag.cli.verbs import GROUPS, PANELS, SUMMARIES, VERBS, names_in
from tests.support.verbs import verbs

SOURCE = Path(novarag.__file__).parent
CLI = SOURCE / "cli"
DOORS = sorted(CLI.rglob("*.py"))
LONGEST, AVERAGE = 40, 130
TYPERS = {"VerbGroup": "TyperGroup", "PassThroughCommand": "TyperCommand"}
CODES = {"ExitCode": "IntEnum"}
HEAVY = ("numpy", "polars", "scipy", "jinja2", "aiohttp", "orjson")


def functions(tree):
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_lines(function):
    """Count the lines of a body, without signature and docstring."""
    first = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else None
    start = (first or function.body[0]).lineno
    return function.end_lineno - start + 1


@pytest.mark.parametrize("door", DOORS, ids=lambda p: str(p.relative_to(CLI)))
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


def door_of(verb):
    """The module of a verb; those of a group within a group share one."""
    return ".".join(verb.replace("-", "_").split()[:2])


def test_every_verb_has_a_module_of_its_name_and_every_group_a_folder_or_a_shared_module():
    names = {".".join(door.relative_to(CLI).with_suffix("").parts) for door in DOORS}
    assert {door_of(verb) for verb in VERBS} <= names
    for group in GROUPS:
        assert (CLI / group).is_dir() if " " not in group else door_of(group) in names
        assert group not in VERBS


HELPS = """
import sys, io, contextlib, json
from novarag.cli import app

others = set(sys.modules)
for path in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        try: app([*path.split(), "--help"])
        except SystemExit as end: assert not end.code, path
    assert path.split()[-1:] == shown.getvalue().split("Usage:")[1].split("[OPTIONS]")[0].split()[1:][-1:], path
    heavy = [m for m in HEAVY if m in sys.modules]
    doors = sorted(m[12:] for m in set(sys.modules) - others if m.startswith("novarag.cli."))
    print(json.dumps([path, heavy, doors]), file=sys.stderr)
    for name in doors:  # so that the next help loads what it needs anew
        del sys.modules["novarag.cli." + name]
"""


def test_help_imports_only_what_it_shows():
    """Of all verbs and groups, in one process whose modules stay light."""
    paths = ["", *SUMMARIES]
    code = HELPS.replace("HEAVY", repr(HEAVY))
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(paths)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = [json.loads(line) for line in done.stderr.splitlines()]
    assert [path for path, _, _ in shown] == paths
    doors = {door_of(verb) for verb in VERBS}
    for path, heavy, loaded in shown:
        assert heavy == [], path
        own = {door_of(path)} if path in VERBS else set()
        assert doors & set(loaded) == own, path


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_says_of_each_what_its_own_help_says_first(verb):
    assert (command(verb).help or "").split("\n\n")[0].replace("\n", " ") == SUMMARIES[verb]


def command(path):
    """The command of a path, found as the command line finds it."""
    found = typer.main.get_command(app)
    for name in path.split():
        found = found.get_command(None, name)
    return found


def test_a_group_is_never_a_verb_and_the_top_holds_few():
    assert len(names_in("")) <= 20
    assert not set(GROUPS) & set(VERBS)
    for group in GROUPS:
        done = CliRunner().invoke(app, group.split())
        assert "Usage" in done.output
        assert SUMMARIES[group].split()[0] in done.output
        refused = CliRunner().invoke(app, [*group.split(), "nonsense"])
        assert refused.exit_code == ExitCode.REFUSED


def test_seven_verbs_stand_first_and_every_other_in_a_named_panel():
    shown = CliRunner().invoke(app, ["--help"]).output
    panels = [line.removesuffix(":") for line in shown.splitlines() if line.endswith(":")]
    assert panels == ["Options", *PANELS]
    assert len(PANELS["Start here"]) <= 7
    assert [name for names in PANELS.values() for name in names] == names_in("")


def test_no_word_of_a_help_is_lost_as_markup():
    """Help is printed by Rich, to which a word in square brackets is a style."""
    from rich.text import Text

    lost = {}
    for words, verb in verbs().items():
        for text in (verb.help, *(getattr(param, "help", None) for param in verb.params)):
            if text and (gone := len(text.replace("\\[", "[")) - len(Text.from_markup(text).plain)):
                lost[" ".join(words), text] = gone
    assert lost == {}
