"""Hooks installed and run by the real pre-commit; the Action's file before its schema."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.changes import (
    answers,
    commit,
    git,
    plain_environment,
    repository,
    write_table,
)
from tests.support.probed import rows, write_lines

pytestmark = pytest.mark.hooks
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BIN = Path(sys.executable).parent
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(key):
    """The YAML blocks of the page that have a key."""
    found = [text for text in BLOCK.findall(PAGE) if key in yaml.safe_load(text)]
    assert found
    return found


@pytest.fixture(scope="module")
def hooks(tmp_path_factory):
    """A repository with what is needed to install the package and its hooks, at one commit."""
    home = repository(tmp_path_factory.mktemp("hooks") / "novarag")
    shutil.copytree(ROOT / "src", home / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, home / name)
    return home, commit(home)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where pre-commit keeps what it installs: once for all tests."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def project(tmp_path, hooks, kept):
    """A repository whose answers are honest, with the hooks of the page installed."""
    home = repository(tmp_path / "project")
    write_table(home / "eval" / "answers.csv", answers())
    write_lines(home / "eval" / "groups.jsonl", rows(60))
    [text] = blocks("repos")
    told = yaml.safe_load(text)
    told["repos"][0] |= {"repo": str(hooks[0]), "rev": hooks[1]}
    (home / ".pre-commit-config.yaml").write_text(yaml.safe_dump(told))
    commit(home)
    run(home, kept, BIN / "pre-commit", "install")
    return home


def run(home, kept, *words, code=0):
    done = subprocess.run(
        [str(word) for word in words], cwd=home, capture_output=True, text=True, check=False,
        env={**plain_environment(), "PRE_COMMIT_HOME": str(kept), "PYTHONPATH": ""},
    )  # fmt: skip
    told = done.stdout + done.stderr
    assert done.returncode == code, told
    return told


def test_a_commit_that_worsens_calibration_is_refused(project, kept):
    before = git(project, "rev-parse", "HEAD")
    write_table(project / "eval" / "answers.csv", answers(boast=0.8))
    git(project, "add", "-A")
    told = run(project, kept, "git", "commit", "-m", "worse", code=1)
    assert "exit code: 3" in told
    assert "- Broken, 1 of 2 budgets: Brier is worse by +0." in told
    assert git(project, "rev-parse", "HEAD") == before


def test_a_commit_that_does_not_is_made_and_others_are_not_looked_at(project, kept):
    write_table(project / "eval" / "answers.csv", answers(boast=0.01))
    git(project, "add", "-A")
    assert "Passed" in run(project, kept, "git", "commit", "-m", "fine")
    (project / "readme").write_text("x")
    git(project, "add", "-A")
    assert "Skipped" in run(project, kept, "git", "commit", "-m", "other")
    assert git(project, "log", "--format=%s").splitlines()[:2] == ["other", "fine"]


def test_what_is_staged_is_held_not_what_lies_about(project, kept):
    write_table(project / "eval" / "answers.csv", answers(boast=0.01))
    git(project, "add", "-A")
    write_table(project / "eval" / "answers.csv", answers(boast=0.8))
    assert "Passed" in run(project, kept, "git", "commit", "-m", "staged")


@pytest.mark.parametrize(
    ("model", "code"), [("simulated:tuned-without-parametric-fallback", 1), ("simulated:tuned", 0)]
)
def test_a_probe_that_finds_a_broken_relation_fails(project, kept, model, code):
    path = project / ".pre-commit-config.yaml"
    told = yaml.safe_load(path.read_text())
    [probe] = [hook for hook in told["repos"][0]["hooks"] if hook["id"] == "novarag-probe"]
    probe["args"] = ["eval/groups.jsonl", "--model", model, "--profile", "quick", "--out", "probe"]
    path.write_text(yaml.safe_dump(told))
    words = [BIN / "pre-commit", "run", "novarag-probe", "--hook-stage", "manual", "--all-files"]
    said = run(project, kept, *words, code=code)
    assert ("exit code: 3" in said) is bool(code)


def test_the_manifest_is_one(kept):
    run(ROOT, kept, BIN / "pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml")


def test_the_action_and_the_workflows_of_the_page_fit_their_schemas(tmp_path, kept):
    schema = [BIN / "check-jsonschema", "--builtin-schema"]
    run(ROOT, kept, *schema, "vendor.github-actions", ROOT / "action.yml")
    for number, text in enumerate(blocks("jobs")):
        (tmp_path / f"{number}.yml").write_text(text)
        run(ROOT, kept, *schema, "vendor.github-workflows", tmp_path / f"{number}.yml")
    broken = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    del broken["runs"]["using"]
    (tmp_path / "action.yml").write_text(yaml.safe_dump(broken))
    run(ROOT, kept, *schema, "vendor.github-actions", tmp_path / "action.yml", code=1)
