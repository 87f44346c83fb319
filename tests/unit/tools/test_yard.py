"""The yard: jobs are the stages of .ci/run, the map of layers is the contracts', steps run."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tools import layers

ROOT = Path(__file__).parents[3]
RUN = ROOT / ".ci" / "run"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
READ = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in WORKFLOWS}
JOBS = {f"{stem}.{name}": job for stem, read in READ.items() for name, job in read["jobs"].items()}
CI = {name: job for name, job in JOBS.items() if name.startswith("ci.")}
STAGES = re.compile(r'bash \.ci/run --only "(.+)"')
RELEASE = re.compile(r'bash (\.ci/release/[a-z]+)(?: "\$[A-Z_]+")+(?: [a-z/]+)?')
"""A step of a release; its words come from the environment, never from an expression."""
MADE = (
    *("make", "uv", "pip", "python", "python3", "pytest", "tar", "apt-get", "dpkg", "bash"),
    *("npm", "chromium", "initdb", "promtool", "twine"),
)
"""What .ci/run calls; stand-ins write their words down and do nothing."""


def steps(job):
    """The scripts of a job, for each row of its matrix."""
    scripts = [step["run"] for step in job.get("steps", []) if "run" in step]
    rows = job.get("strategy", {}).get("matrix", {}).get("stages", [""])
    return [s.replace("${{ matrix.stages }}", row) for row in rows for s in scripts]


def staged(job):
    return [name for script in steps(job) for found in STAGES.findall(script) for name in found.split()]  # fmt: skip


def names():
    done = subprocess.run(["bash", RUN, "--names"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_quick_stage_names_rooms_of_tests_that_there_are():
    (rooms,) = re.findall(r"printf 'tests/unit/%s ' ([a-z ]+)\)", RUN.read_text("utf-8"))
    assert rooms.split()
    assert all((ROOT / "tests" / "unit" / room).is_dir() for room in rooms.split())


@pytest.fixture
def judged(tmp_path):
    """Run .ci/run among stand-ins, and return what it called and what it printed."""
    bin_, home = tmp_path / "bin", tmp_path / "repository" / ".ci"
    bin_.mkdir(), home.mkdir(parents=True)
    for name in ("run", "uv-settings"):
        (home / name).write_bytes((ROOT / ".ci" / name).read_bytes())
    for name in MADE:
        (bin_ / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/called\n', "utf-8")
        (bin_ / name).chmod(0o755)

    def judge(*words):
        (tmp_path / "called").write_text("", "utf-8")
        told = {"PATH": f"{bin_}:/usr/bin:/bin", "HOME": str(tmp_path)}
        done = subprocess.run(
            ["/bin/bash", home / "run", *words], env=told, capture_output=True, text=True
        )
        called = (tmp_path / "called").read_text("utf-8").splitlines()
        proved = [line for line in called if line.startswith(("make ", "pytest ")) and "/node" not in line]  # fmt: skip
        return done, proved, called

    return judge


def test_jobs_run_every_stage_once_and_the_quick_one_comes_first():
    run = [name for job in JOBS.values() for name in staged(job)]
    assert sorted(run) == sorted(names())
    [(first, job)] = [(n, job) for n, job in CI.items() if "needs" not in job]
    assert staged(job) == ["lint", "quick"]
    assert all(other["needs"] == first.split(".")[1] for n, other in CI.items() if n != first)


NAMED_ALONE = {"quick", "release"}
"""Stages that the whole leaves out: tests has all of the first, the second is long and rare."""


def test_the_stages_together_prove_what_the_whole_proves(judged):
    done, whole, _ = judged()
    assert done.returncode == 0, done.stderr
    apart = [set(judged("--only", name)[1]) for name in names() if name not in NAMED_ALONE]
    plain = re.compile(r"/tmp/tmp\.\w+")
    seen = {plain.sub("", line) for found in apart for line in found}
    assert {plain.sub("", line) for line in whole} == seen
    assert len(re.findall("^== ", done.stdout, re.MULTILINE)) == 18


def test_a_stage_installs_only_what_it_needs(judged):
    _, proved, called = judged("--only", "lint")
    assert proved == ["make lint types contracts"]
    assert not [line for line in called if "group train" in line or "moto" in line]
    _, _, called = judged("--only", "vllm")
    assert [line for line in called if "group train" in line]


@pytest.mark.parametrize("words", [["--only"], ["--only", ""], ["--only", "lint nothing"], ["all"]])
def test_what_run_does_not_know_is_refused(judged, words):
    done, _, called = judged(*words)
    assert (done.returncode, called) == (2, [])
    assert "frameworks" in done.stderr


@pytest.mark.parametrize("script", sorted({s for job in JOBS.values() for s in steps(job)}))
def test_steps_run_as_scripts_or_name_what_there_is(script, tmp_path):
    if found := STAGES.fullmatch(script):
        assert set(found[1].split()) <= set(names())
        return
    if found := RELEASE.fullmatch(script):
        assert os.access(ROOT / found[1], os.X_OK)
        return
    told = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=told, cwd=tmp_path, check=True)


def test_a_release_is_proven_before_it_is_signed_and_approved_before_it_is_shown():
    jobs = READ["release"]["jobs"]
    order = {name: job.get("needs") for name, job in jobs.items()}
    assert order == {
        "build": None,
        "proof": "build",
        "attest": "proof",
        "publish": "attest",
        "announce": "publish",
        "docs": "publish",
    }
    assert jobs["proof"]["uses"] == "./.github/workflows/ci.yml"
    assert "workflow_call" in READ["ci"][True]  # `on` is a truth to YAML
    assert jobs["publish"]["environment"]


def test_what_may_sign_or_publish_runs_no_script_and_what_runs_scripts_may_not():
    for name, job in JOBS.items():
        allowed = job.get("permissions", {})
        if "id-token" in allowed:
            assert steps(job) == [], name
            assert "contents" not in allowed, name
    assert [n for n, j in JOBS.items() if "id-token" in j.get("permissions", {})] == [
        "release.attest",
        "release.publish",
    ]
    assert all(read["permissions"] == {"contents": "read"} for read in READ.values())


def test_no_script_of_a_step_holds_an_expression_but_the_stages():
    for name, job in JOBS.items():
        for step in job.get("steps", []):
            text = step.get("run", "").replace("${{ matrix.stages }}", "")
            assert "${{" not in text, name


def test_actions_are_pinned_to_a_version():
    used = [s["uses"] for job in JOBS.values() for s in job.get("steps", []) if "uses" in s]
    assert used
    assert [u for u in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@(release/)?v\d+", u)] == []


def test_targets_that_run_and_pages_name_exist():
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))  # fmt: skip
    ours = [
        *(RUN, *sorted((ROOT / ".ci/release").iterdir())),
        *(ROOT / "CONTRIBUTING.md", ROOT / ".github/pull_request_template.md"),
        ROOT / "docs/releasing.md",
    ]
    calls = re.findall(r"(?:`|^\s*|twice )(?:[A-Z_]+=\S+ )*make ((?:[a-z][a-z0-9-]* ?)+)", "\n".join(p.read_text("utf-8") for p in ours), re.MULTILINE)  # fmt: skip
    named = {name for words in calls for name in words.split()}
    assert {"lint", "quick", "test-oracles"} <= named
    assert named - targets == set()


def test_the_list_of_targets_can_be_read_at_a_glance():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 10 < len(re.findall(r"^  [a-z]", done.stdout, re.MULTILINE)) <= 60


def test_nothing_in_the_yard_names_an_owner_or_a_host():
    for path in (ROOT / ".github").rglob("*"):
        if path.is_file():
            assert not re.search(r"https?://|github\.com|OWNER", path.read_text("utf-8")), path


def test_dependabot_looks_where_versions_stand():
    told = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text("utf-8"))
    for entry in told["updates"]:
        for folder in entry.get("directories", [entry.get("directory")]):
            assert (ROOT / folder.strip("/")).is_dir(), folder
    assert {e["package-ecosystem"] for e in told["updates"]} == {"pip", "npm", "docker", "github-actions"}  # fmt: skip


def test_files_of_the_yard_fit_their_schemas():
    """`make lint` names each of them, so that a new one is not forgotten."""
    done = subprocess.run(["make", "-n", "lint"], cwd=ROOT, capture_output=True, text=True, check=True)  # fmt: skip
    checked = " ".join(line for line in done.stdout.splitlines() if "check-jsonschema" in line)
    checked = checked.replace("*.yml", " .github/workflows/".join(p.name for p in WORKFLOWS))
    for path in (ROOT / ".github").rglob("*.yml"):
        assert path.relative_to(ROOT).as_posix() in checked


def test_the_map_of_layers_is_the_contracts():
    text = layers.PAGE.read_text("utf-8")
    assert layers.page(text, layers.contracts()) == text, "run `make layers`"
    other = [*layers.contracts(), {"name": "Nobody imports nobody", "type": "forbidden"}]
    assert layers.page(text, other) != text
    with pytest.raises(SystemExit, match="0 times"):
        layers.page(text.replace("<!-- layers -->", ""), other)
