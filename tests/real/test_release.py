"""A release in a clone with a made-up tag: the workflow's own steps, up to the upload (`make test-release`).

It installs packages, so it needs the wire or what stands in for it; nothing is sent anywhere but to
a bare repository beside the clone.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TAG = "v77.0.0"
SCRIPT = re.compile(r"bash \.ci/release/")

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a clone")


def told():
    """The environment of a step in the workflow, where nobody's name is known to git."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))
    }
    return kept | {
        "GITHUB_REF_NAME": TAG, "TAG": TAG, "GITHUB_ACTOR": "somebody",
        "GITHUB_REPOSITORY": "somebody/novarag", "GITHUB_SERVER_URL": "https://example.com",
    }  # fmt: skip


def run(folder, *words):
    done = subprocess.run(words, cwd=folder, env=told(), capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def steps(workflow, job):
    """The scripts of a job that are the repository's."""
    read = yaml.safe_load((ROOT / ".github/workflows" / f"{workflow}.yml").read_text("utf-8"))
    return [s["run"] for s in read["jobs"][job]["steps"] if SCRIPT.match(s.get("run", ""))]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Do what docs/releasing.md tells maintainers, up to the tag."""
    home = tmp_path_factory.mktemp("release")
    run(home, "git", "init", "-q", "--bare", "far")
    run(home, "git", "clone", "-q", "--no-local", str(ROOT), "near")
    near = home / "near"
    run(near, "git", "checkout", "-q", "-B", "main")
    run(near, "git", "remote", "set-url", "origin", str(home / "far"))
    run(near, "python", "-m", "tools.owner", "somebody/novarag")
    log = near / "CHANGELOG.md"
    log.write_text(log.read_text("utf-8").replace("## [Unreleased]\n", "## [Unreleased]\n\n- New.\n"), "utf-8")  # fmt: skip
    run(near, "python", "-m", "tools.release", "prepare", TAG[1:])
    who = ("-c", "user.name=maintainer", "-c", "user.email=maintainer@example.com")
    run(near, "git", *who, "commit", "-qam", "release")
    run(near, "git", "push", "-q", "origin", "main")
    run(near, "git", "fetch", "-q", "origin")
    run(near, "git", "tag", TAG)
    return near


def test_the_steps_make_what_is_released_and_again_the_same_bytes(clone):
    check, build = steps("release", "build")
    for _ in range(2):
        run(clone, "bash", "-euo", "pipefail", "-c", check)
        run(clone, "bash", "-euo", "pipefail", "-c", build)
        made = clone / "build/release"
        names = {p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file()}
        assert names == {
            "dist/novarag-77.0.0-py3-none-any.whl", "dist/novarag-77.0.0.tar.gz", "sbom.json", "notes.md",
        }  # fmt: skip
        sums = {n: hashlib.sha256((made / n).read_bytes()).hexdigest() for n in names}
        first = clone.parent / "first"
        if not first.exists():
            made.rename(first)
            before = sums
    assert sums == before
    with ZipFile(first / "dist/novarag-77.0.0-py3-none-any.whl") as wheel:
        meta = wheel.read("novarag-77.0.0.dist-info/METADATA").decode()
    assert "Project-URL: Repository, https://github.com/somebody/novarag" in meta
    links = re.findall(r"\]\(([^)]*)\)", meta)
    assert len(links) > 20
    assert {link.partition("/v77.0.0/")[0] for link in links} == {
        "https://github.com/somebody/novarag/blob", "https://github.com/somebody/novarag/raw",
    }  # fmt: skip
    with tarfile.open(first / "dist/novarag-77.0.0.tar.gz") as source:
        assert "novarag-77.0.0/.ci/release/build" in source.getnames()
    assert json.loads((first / "sbom.json").read_bytes())["metadata"]["component"]["version"] == "77.0.0"  # fmt: skip
    assert "- New." in (first / "notes.md").read_text("utf-8")


def test_pages_of_two_versions_stand_beside_each_other(clone):
    [script] = steps("docs", "pages")
    run(clone, "bash", "-euo", "pipefail", "-c", script)
    run(clone, "git", "tag", "v78.0.0rc1")
    run(clone, "bash", "-euo", "pipefail", "-c", script.replace("$TAG", "v78.0.0rc1"))
    far = clone.parent / "far"
    show = lambda name: run(far, "git", "show", f"gh-pages:{name}")  # noqa: E731
    known = {one["version"]: one["aliases"] for one in json.loads(show("versions.json"))}
    assert known == {"78.0.0rc1": [], "77.0.0": ["latest"]}
    assert "latest/" in show("index.html")
    assert "](https://somebody.github.io/novarag/77.0.0/measuring/)" in show("77.0.0/llms.txt")
    assert "https://github.com/somebody/novarag" in show("77.0.0/index.html")
    assert "somebody@users.noreply.example.com" in run(
        far, "git", "log", "gh-pages", "--format=%ae"
    )
