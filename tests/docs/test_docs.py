"""Docs that cannot rot: every code block is run, generated pages are what the code says."""

import os
import re
import shlex
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.support.verbs import verbs

ROOT = Path(__file__).parents[2]
GENERATED = [ROOT / "docs" / name for name in ("cli.md", "reproduction/simulated.md", "reproduction/smollm2.md")]  # fmt: skip
"""Pages that a command writes; their blocks are not ours to run."""
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PAGES = [page for page in PAGES if page not in GENERATED]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def environment():
    """The PATH of the command under test: this environment, or the fresh one that CI made."""
    home = os.environ.get("NOVARAG_COMMAND", str(Path(sys.executable).parent))
    return {"PATH": f"{home}:{os.environ['PATH']}", "COLUMNS": "80", "HOME": os.environ["HOME"]}


def run_console(block, cwd):
    """Run each `$ command` and compare what it prints with the lines under it; `...` is any."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(
            ["bash", "-c", command], cwd=cwd, env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        pattern = re.escape(expected.rstrip()).replace(r"\.\.\.", ".*")
        assert re.fullmatch(pattern, done.stdout.rstrip(), re.DOTALL), f"$ {command}\n{done.stdout}"


def run_python(blocks, cwd):
    code = "\n".join(blocks)
    python = Path(environment()["PATH"].split(":")[0]) / "python"
    done = subprocess.run(
        [python, "-W", "error", "-c", code],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_page(page, cwd):
    """Run a page; where a tutorial or a guide shows what its blocks print, that is what they do."""
    text = page.read_text("utf-8")
    found = BLOCK.findall(text)
    for kind, block in found:
        if kind == "console":
            run_console(block, cwd)
    blocks = [block for kind, block in found if kind == "python"]
    said = run_python(blocks, cwd) if blocks else ""
    if page.parent.name in {"tutorials", "guides"}:
        assert said == "".join(SHOWN.findall(text))
    return len(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_block_runs(page, tmp_path):
    run_page(page, tmp_path)


@pytest.mark.install
def test_quick_start_with_only_the_package_installed(tmp_path):
    assert "NOVARAG_COMMAND" in os.environ
    assert run_page(ROOT / "README.md", tmp_path) >= 2


def commands():
    """The `novarag` lines of blocks that need a server, and so are not run."""
    blocks = re.compile(r"^```(?:sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    found = [
        line
        for page in PAGES
        for block in blocks.findall(page.read_text("utf-8"))
        for line in block.splitlines()
    ]
    return [line for line in found if line.startswith("novarag ")]


@pytest.mark.parametrize("line", commands())
def test_commands_that_need_a_server_are_at_least_spelled_right(line):
    _, *words = shlex.split(line.removesuffix(" &"))
    known = verbs()
    verb = next(words[:n] for n in (3, 2, 1) if tuple(words[:n]) in known)
    known[tuple(verb)].make_context(verb[-1], words[len(verb) :])


def test_hooks_are_spelled_right():
    """Arguments come from whoever uses a hook, so only its verb and options can be wrong here."""
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    entries = re.findall(r"^  entry: novarag (.+)$", hooks, re.MULTILINE)
    assert len(entries) == hooks.count("entry:")
    for line in entries:
        verb, *words = shlex.split(line)
        options = {name for param in verbs()[verb,].params for name in param.opts}
        assert {word for word in words if word.startswith("-")} <= options, line


def test_there_are_blocks_to_run():
    assert sum(len(BLOCK.findall(p.read_text("utf-8"))) for p in PAGES) >= 20
    assert [page for page in GENERATED if not page.is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page):
    named = re.findall(
        r"(?<![\w./-])(?:src|tests|benchmarks|validation|experiments|tools|deploy|\.ci)"
        r"/[\w./-]+\.(?:py|sh|md|toml|json|csv|yaml|txt)\b(?:\.gz)?",
        page.read_text("utf-8"),
    )
    assert [n for n in named if not (ROOT / n).is_file() and "NAME" not in n] == []


def test_cli_page_is_generated(tmp_path):
    out = tmp_path / "cli.md"
    subprocess.run(
        [sys.executable, "-m", "typer", "novarag.cli", "utils", "docs", "--name", "novarag", "--output", str(out)],
        check=True, capture_output=True,
    )  # fmt: skip
    assert (ROOT / "docs" / "cli.md").read_text() == out.read_text(), "run `make cli-docs`"


def test_figures_page_is_generated():
    done = subprocess.run(
        [sys.executable, "-m", "tools.figures_page"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert (ROOT / "docs" / "figures.md").read_text() == done.stdout, "run `make figures-docs`"


def tree():
    """The files of this tree: what git tracks; in an unpacked archive, what it would not ignore."""
    if (ROOT / ".git").exists():
        words = ["git", "ls-files", "-z"]
        listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
        return [ROOT / name for name in listed.stdout.split("\0") if name]
    lines = (ROOT / ".gitignore").read_text("utf-8").split()

    def ignored(parts):
        return any(
            fnmatch(part, line.strip("/"))
            for line in lines
            for part in (parts[:1] if line.startswith("/") else parts)
        )

    return [p for p in ROOT.rglob("*") if p.is_file() and not ignored(p.relative_to(ROOT).parts)]


def test_nothing_names_a_machine_or_a_registry():
    host = re.compile(
        r"https?://(files|registry|deb|index)\.|(^|[^A-Za-z0-9_.])/(work|root|home)/", re.MULTILINE
    )
    found = tree()
    assert len(found) > 400
    for path in found:
        if (
            path.suffix in {".md", ".py", ".toml", ".yml", ".yaml", ".txt", ".cff", ""}
            and path.is_file()
        ):
            if path.name in {"LICENSE", "test_docs.py"}:
                continue
            assert not host.search(path.read_text("utf-8", "replace")), path


def test_scale_page_is_generated():
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    out = subprocess.run(
        [sys.executable, "-m", "tools.scale"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.strip() in page
