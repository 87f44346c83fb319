"""The Action: its file is whole, its script is run on changes, its comment is posted once."""

import json
import os
import re
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest
import yaml

from novarag.report.comparison import MARK
from tests.support.changes import answers, commit, git, plain_environment, repository, write_table

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "action"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


def texts(value):
    if isinstance(value, dict):
        return [text for part in value.values() for text in texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    return [value] if isinstance(value, str) else []


def test_the_file_has_what_a_composite_action_needs():
    assert set(ACTION) == {"name", "description", "inputs", "outputs", "runs"}
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS:
        assert step["shell"] == "bash"
        assert set(step) <= {"name", "id", "if", "shell", "run", "env"}  # and no step of others
    for one in ACTION["inputs"].values():
        assert one["description"]
        assert one.get("required") is True or isinstance(one["default"], str)
    assert all(set(one) == {"description", "value"} for one in ACTION["outputs"].values())


def test_inputs_are_those_that_are_used_and_never_text_of_a_command():
    used = set(re.findall(r"inputs\.([a-z_]+)", json.dumps(ACTION["runs"])))
    assert used == set(ACTION["inputs"])
    assert not [step["run"] for step in STEPS if "${{" in step["run"]]
    script = (FOLDER / "run.sh").read_text("utf-8")
    given = {name for step in STEPS for name in step["env"] if name.startswith("INPUT_")}
    assert set(re.findall(r"INPUT_[A-Z]+", script)) - {"INPUT_"} == given
    assert {f"INPUT_{name.upper()}" for name in used} - given == {"INPUT_COMMENT", "INPUT_TOKEN"}


def test_outputs_are_those_that_the_script_writes():
    script = (FOLDER / "run.sh").read_text("utf-8")
    for name, one in ACTION["outputs"].items():
        assert EXPRESSION.fullmatch(one["value"])[1].strip() == f"steps.compare.outputs.{name}"
        assert f"{name}=%s" in script
    assert "compare" in [step.get("id") for step in STEPS]


def test_nothing_is_tied_to_a_host():
    files = [ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml", *FOLDER.iterdir()]
    for path in files:
        assert not re.search(r"https?://|\buses:", path.read_text("utf-8")), path
    assert (FOLDER / "run.sh").stat().st_mode & stat.S_IXUSR


@pytest.fixture
def project(tmp_path):
    """A repository with a main branch whose answers are honest, and a change that does nothing."""
    home = repository(tmp_path / "project")
    write_table(home / "eval" / "answers.csv", answers())
    (home / "boast").write_text("0")
    commit(home, "main")
    git(home, "switch", "-qc", "change")
    return home


@contextmanager
def settled(home):
    """Nothing of the repository is changed, and no work tree is left."""
    before = git(home, "rev-parse", "HEAD"), git(home, "status", "--porcelain", "-uno")
    yield
    assert (git(home, "rev-parse", "HEAD"), git(home, "status", "--porcelain", "-uno")) == before
    assert len(git(home, "worktree", "list").splitlines()) == 1


def act(home, **inputs):
    """Run the script as the runner does: in the tree, with settings in the environment."""
    novarag = home.parent / "novarag"
    novarag.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m novarag "$@"\n')
    novarag.chmod(0o755)
    temp = home.parent / "temp"
    temp.mkdir(exist_ok=True)
    files = {name: home.parent / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    given = {"results": "eval/answers.csv", "base": "main", "novarag": novarag,
             "options": "--replicates 100", **inputs}  # fmt: skip
    told = {f"INPUT_{name.upper()}": str(value) for name, value in given.items()}
    paths = os.pathsep.join(filter(None, [*sys.path]))
    done = subprocess.run(
        ["bash", str(FOLDER / "run.sh")], cwd=home, capture_output=True, text=True, check=False,
        env={**plain_environment(), **told, **{n: str(f) for n, f in files.items()},
             "RUNNER_TEMP": str(temp), "PYTHONPATH": paths},
    )  # fmt: skip
    assert list(temp.iterdir()) == []  # nothing is left behind
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    return done, outputs, files["GITHUB_STEP_SUMMARY"].read_text("utf-8")


def test_a_change_that_worsens_calibration_fails_and_the_comment_says_so(project):
    write_table(project / "eval" / "answers.csv", answers(boast=0.8))
    commit(project)
    with settled(project):
        done, outputs, summary = act(project, budgets="brier=0.02\n  auroc=0.03\n\n")
    assert done.returncode == 3, done.stderr
    assert outputs["code"] == "3"
    assert summary == (project / outputs["comment"]).read_text("utf-8")
    assert summary.startswith(f"{MARK}\n\n**Broken, 1 of 3 budgets: Brier is worse by +0.")
    suite = ET.parse(project / outputs["junit"]).getroot()[0]
    failed = {case.get("name"): case.find("failure") is not None for case in suite}
    assert failed == {"brier": True, "auroc": False, "unread": False}


def test_a_change_that_does_not_is_let_through(project):
    write_table(project / "eval" / "answers.csv", answers(boast=0.01))
    commit(project)
    with settled(project):
        done, outputs, summary = act(project)
    assert done.returncode == 0, done.stderr
    assert outputs["code"] == "0"
    assert "**Kept: 2 budgets, and nothing is broken.**" in summary


COMMAND = f'''
"{sys.executable}" - <<'MADE'
import sys
sys.path.insert(0, "{ROOT}")
from pathlib import Path
from tests.support.changes import answers, write_table
write_table(Path("made/answers.csv"), answers(boast=float(Path("boast").read_text())))
MADE
'''


@pytest.mark.parametrize(("boast", "code"), [("0.8", 3), ("0.01", 0)])
def test_a_command_is_run_at_the_base_and_at_the_change(project, boast, code):
    (project / "boast").write_text(boast)
    commit(project)
    with settled(project):
        done, outputs, _ = act(project, results="made/answers.csv", command=COMMAND)
    assert done.returncode == code, done.stderr
    assert outputs["code"] == str(code)


def test_a_command_that_fails_on_one_side_fails_the_build(project):
    (project / "new.sh").write_text("exit 0")
    commit(project)
    done, outputs, summary = act(project, command="bash new.sh")
    assert done.returncode == 2
    assert "the command fails at the base" in done.stderr
    assert (outputs, summary) == ({}, "")
    done, _, _ = act(project, command="git rev-parse --abbrev-ref HEAD | grep -qx HEAD")
    assert done.returncode == 2  # the base is a bare commit, the change a branch
    assert "the command fails at the change" in done.stderr


def test_too_few_questions_fail_where_one_is_strict(project):
    git(project, "switch", "-q", "main")
    write_table(project / "eval" / "answers.csv", answers(60))
    commit(project)
    git(project, "switch", "-qc", "small")
    write_table(project / "eval" / "answers.csv", answers(60, boast=0.2))
    commit(project)
    done, _, summary = act(project)
    assert done.returncode == 0
    assert "Not enough questions to tell" in summary
    assert act(project, strict="true")[0].returncode == 3


def test_a_file_that_is_new_can_be_held_against_nothing(project):
    write_table(project / "new.csv", answers())
    commit(project)
    done, _, summary = act(project, results="new.csv")
    assert done.returncode == 0, done.stderr
    assert "**Cannot tell for 2 of 2 budgets." in summary


def test_the_base_is_fetched_where_a_clone_has_one_commit(project, tmp_path):
    write_table(project / "eval" / "answers.csv", answers(boast=0.8))
    commit(project)
    base = git(project, "rev-parse", "main")
    git(project, "config", "uploadpack.allowReachableSHA1InWant", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", "-b", "change", project.as_uri(), str(clone))
    done, _, summary = act(clone, base=base)
    assert done.returncode == 3, done.stderr
    assert "Broken" in summary


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"results": ""}, "no results are named"),
        ({"results": "/etc/passwd"}, "is no path from the root"),
        ({"results": "eval/../../x"}, "is no path from the root"),
        ({"base": "nowhere"}, "there is no commit 'nowhere'"),
        ({"base": "--help"}, "there is no commit '--help'"),
        ({"budgets": "brier=much"}, "is no budget"),
        ({"results": "eval/none.csv"}, "there is no eval/none.csv"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_kept(project, inputs, says):
    done, outputs, summary = act(project, **inputs)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "comment" not in outputs
    assert summary == ""


def test_settings_are_never_run(project, tmp_path):
    trap = tmp_path / "trap"
    text = f"$(touch {trap}); `touch {trap}` && touch {trap}"
    for name in ("results", "base", "budgets", "options", "strict"):
        act(project, **{name: text})
        assert not trap.exists(), name
    out = f"out $(touch {trap.name})"
    done, outputs, _ = act(project, out=out, options="--replicates 100\n--question   question")
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("trap"))
    assert (project / outputs["comment"]).is_file()


@contextmanager
def host(comments, refuse=0):
    """Serve the part of a code host's API that comments need; yields address and what was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            asked.append((self.command, self.path, body, self.headers["Authorization"]))
            if refuse:
                self.send_error(refuse)
                return
            found = {}
            if self.command == "GET":
                told = parse_qs(urlsplit(self.path).query)
                page, size = int(told["page"][0]), int(told["per_page"][0])
                found = comments[(page - 1) * size : page * size]
            content = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = answer  # noqa: N815 - as http.server calls them

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def post(address, file):
    return subprocess.run(
        [sys.executable, str(FOLDER / "comment.py")], capture_output=True, text=True, check=False,
        env={**os.environ, "COMMENT_FILE": str(file), "PULL_REQUEST": "7", "GITHUB_TOKEN": "secret",
             "GITHUB_REPOSITORY": "owner/name", "GITHUB_API_URL": address, "no_proxy": "127.0.0.1"},
    )  # fmt: skip


@pytest.fixture
def comment(tmp_path):
    path = tmp_path / "comment.md"
    path.write_text(f"{MARK}\n\n**Kept.**\n")
    return path


def by(kind, body, number=1):
    return {"id": number, "user": {"type": kind}, "body": body}


COMMENTS = "/repos/owner/name/issues/7/comments"


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("there", "call"),
    [
        ([], ("POST", COMMENTS)),
        ([by("User", f"{MARK} mine"), by("Bot", f"> {MARK}")], ("POST", COMMENTS)),
        ([by("Bot", f"{MARK} old", 5)], ("PATCH", "/repos/owner/name/issues/comments/5")),
        ([by("User", "x")] * 130 + [by("Bot", MARK, 9)], ("PATCH", "/repos/owner/name/issues/comments/9")),
    ],
)  # fmt: skip
def test_one_comment_is_kept_and_never_somebody_elses(comment, there, call):
    with host(there) as (address, asked):
        done = post(address, comment)
    assert done.returncode == 0, done.stderr
    assert asked[-1][:2] == call
    assert asked[-1][2] == {"body": comment.read_text()}
    assert {one[3] for one in asked} == {"Bearer secret"}
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.enable_socket
def test_a_token_that_may_not_write_is_said_and_another_failure_is_one(comment):
    with host([], refuse=403) as (address, _):
        done = post(address, comment)
    assert done.returncode == 0
    assert "no comment was written: the token may not (403)" in done.stdout
    with host([], refuse=500) as (address, _):
        assert post(address, comment).returncode == 1


@pytest.mark.enable_socket
def test_a_comment_is_never_too_long_for_its_host(comment):
    comment.write_text(f"{MARK}\n" + "| x |\n" * 20_000)
    with host([]) as (address, asked):
        post(address, comment)
    body = asked[-1][2]["body"]
    assert len(body) < 65_536
    assert body.endswith("Cut here: the rest is in the files of the job.\n")
