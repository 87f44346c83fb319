"""Exit codes: one table, shown by the help and the docs, and nothing else in the code."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from novarag import cli
from novarag.cli import TRACEBACK, main
from novarag.cli.exit_codes import MEANING, ExitCode, epilogue
from novarag.defaults import LARGEST
from tests.support.processes import heeding_interrupts

ROOT = Path(__file__).parents[3]
NAMED = {"ExitCode", "code_of", "exit_code", "sum_up"}


def test_the_docs_have_the_table_of_the_code():
    page = (ROOT / "docs/reference/exit-codes.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE)
    assert rows == [(str(code.value), meaning) for code, meaning in MEANING.items()]
    assert list(MEANING) == list(ExitCode)
    assert cli.app.info.epilog == epilogue()
    assert all(f"{code.value} {meaning}" in epilogue() for code, meaning in MEANING.items())


def test_verbs_end_with_codes_of_the_table():
    """No number is handed to `exit`, and every verb named in the docs does end with 1."""
    ends = set()
    doors = ROOT / "src/novarag/cli"
    for path in sorted(doors.rglob("*.py")):
        verb = " ".join(path.relative_to(doors).with_suffix("").parts).replace("_", "-")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"sys.exit", "typer.Exit"}:
                held = ast.unparse(node)
                known = any(name in held for name in NAMED)
                assert known or verb in {"train noise", "train serve"}, (path, held)
                if "INCOMPLETE" in held or "code_of" in held or verb in {"ask", "train noise"}:
                    ends.add(verb)
    page = (ROOT / "docs/reference/exit-codes.md").read_text().split("What 1 means")[1]
    assert ends == set(re.findall(r"`([a-z -]+)`", page.split("\n\n")[1]))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (UnicodeEncodeError("ascii", "é", 0, 1, "no"), "cannot be shown here"),
        (RecursionError("too deep"), "nested too deeply"),
        (MemoryError(), "not enough memory"),
        (PermissionError(13, "Permission denied", "a.csv"), "Permission denied: 'a.csv'"),
    ],
)
def test_what_is_no_fault_of_ours_is_one_line(monkeypatch, capsys, error, says):
    def fail():
        raise error

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr(sys, "argv", ["novarag", "measure"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == ExitCode.REFUSED
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(type(error)):
        main()


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("x"), AssertionError("x")])
def test_a_fault_of_ours_is_shown_whole(monkeypatch, error):
    def fail():
        raise error

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr(sys, "argv", ["novarag", "measure"])
    with pytest.raises(type(error)):
        main()


def test_words_that_are_no_text_are_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["novarag", "measure", "a\udcff.csv"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == ExitCode.REFUSED
    assert "is not text in UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["run", "show", "x", "--replies"], ["paper", "study", "sheet", "x", "--seed"]]
)
def test_whole_numbers_have_a_largest(monkeypatch, capsys, words):
    monkeypatch.setattr(sys, "argv", ["novarag", *words, str(LARGEST + 1)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == ExitCode.REFUSED
    assert str(LARGEST) in capsys.readouterr().err


def test_an_interrupt_that_gets_lost_comes_again():
    """Python drops one that falls into a finaliser, and shows a traceback instead."""
    code = (
        "import time\nimport novarag.cli as cli\nfrom novarag.__main__ import main\n"
        "class Last:\n    def __del__(self): raise KeyboardInterrupt\n"
        "def app():\n    Last()\n    time.sleep(600)\n"
        "cli.app = app\nmain()\n"
    )
    done = subprocess.run(
        heeding_interrupts("-c", code), capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "")


def test_what_an_interrupt_left_half_made_says_nothing():
    """An event loop that was interrupted as it was made complains when it goes."""
    code = (
        "import novarag.cli as cli\n"
        "from novarag.__main__ import STOPPED, main\n"
        "class Half:\n    def __del__(self): raise AttributeError('half made')\n"
        "def app():\n    half = Half()\n    raise KeyboardInterrupt\n"
        "cli.app = app\nassert STOPPED == cli.ExitCode.STOPPED\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "")


SLOW = """
import os, signal, sys, time
class Finder:
    def find_spec(self, name, *_):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(600)
sys.meta_path.insert(0, Finder())
sys.argv = ["novarag", "measure", "answers.csv"]
from novarag.__main__ import main
main()
"""


@pytest.mark.parametrize("name", ["typer", "novarag.cli.measure", "polars"])
def test_an_interrupt_while_modules_load_ends_without_a_word(tmp_path, name):
    (tmp_path / "answers.csv").write_text("confidence,correct\n0.5,1\n")
    done = subprocess.run(
        heeding_interrupts("-c", SLOW.format(name=name)),
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
