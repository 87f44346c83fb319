"""A tag becomes a release only where version, changelog, place and commit agree with it."""

import os
import shutil
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tools import owner, release

ROOT = Path(__file__).parents[3]
KEPT = (
    *("pyproject.toml", "mkdocs.yml", "CITATION.cff", "SECURITY.md", "CHANGELOG.md", "docs/ci.md"),
    *("src/novarag/version.py", "tools/__init__.py", "tools/owner.py", "tools/release.py"),
    *(f".ci/release/{name}" for name in ("check", "build", "announce", "docs")),
)
DAY = date(2030, 1, 2)


def git(folder, *words):
    told = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for kind in ("AUTHOR", "COMMITTER"):
        told |= {f"GIT_{kind}_NAME": "somebody", f"GIT_{kind}_EMAIL": "somebody@example.com"}
    done = subprocess.run(["git", *words], cwd=folder, env=told, check=True, capture_output=True, text=True)  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path):
    """A clone of a repository with the files that a release looks at."""
    home = tmp_path / "clone"
    for name in KEPT:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, home / name)
    (home / ".gitignore").write_text("__pycache__/\n", "utf-8")
    git(tmp_path, "init", "-q", "--bare", "far")
    git(home, "init", "-q", "-b", "main")
    git(home, "remote", "add", "origin", str(tmp_path / "far"))
    git(home, "add", "-A"), git(home, "commit", "-qm", "all")
    return home


def ready(clone, version="7.0.0"):
    """Do what the page for maintainers says, up to the tag."""
    owner.main(["some-body/novarag"], clone)
    if "Unreleased" in release.sections(clone) and not release.sections(clone)["Unreleased"][1]:
        change(clone, "CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- A thing.\n")
    release.prepare(version, DAY, clone)
    git(clone, "commit", "-qam", "release")
    git(clone, "push", "-q", "origin", "main"), git(clone, "fetch", "-q")
    git(clone, "tag", f"v{version}")
    return f"v{version}"


def change(clone, name, old, new):
    text = (clone / name).read_text("utf-8")
    assert old in text
    (clone / name).write_text(text.replace(old, new, 1), "utf-8")


def check(clone, tag, **told):
    """Run the step of the workflow."""
    kept = {k: v for k, v in os.environ.items() if k != "GITHUB_REPOSITORY"}
    bin_ = str(Path(sys.executable).parent)
    return subprocess.run(
        ["bash", ".ci/release/check", tag], cwd=clone, capture_output=True, text=True,
        env={**kept, "PATH": f"{bin_}:{os.environ['PATH']}", **told},
    )  # fmt: skip


def test_a_tag_that_was_prepared_passes(clone):
    done = check(clone, ready(clone), GITHUB_REPOSITORY="some-body/novarag")
    assert (done.returncode, done.stderr) == (0, "")


def spoil(clone, how):
    """Break one thing, and commit it where it is a file."""
    match how:
        case "the package says":
            change(clone, "src/novarag/version.py", "7.0.0", "7.0.1")
        case "CITATION.cff says 6.9.9":
            change(clone, "CITATION.cff", "7.0.0", "6.9.9")
        case "has no text under":
            change(clone, "CHANGELOG.md", "[7.0.0]", "[6.9.9]")
        case "has no day beside":
            change(clone, "CHANGELOG.md", " - 2030-01-02", " - soon")
        case "nothing has been released":
            change(clone, "CHANGELOG.md", "SemVer", "SemVer. Nothing has been released yet: wait. ")
        case "nobody said where":
            text = (clone / "pyproject.toml").read_text("utf-8")
            (clone / "pyproject.toml").write_text(owner.URLS.sub("\n", text), "utf-8")
        case "another place":
            change(clone, "CITATION.cff", "some-body/novarag", "another/novarag")
    git(clone, "commit", "-qam", "spoilt"), git(clone, "push", "-q", "origin", "main")
    git(clone, "fetch", "-q"), git(clone, "tag", "-f", "v7.0.0")


@pytest.mark.parametrize(
    "how",
    [
        *("the package says", "CITATION.cff says 6.9.9", "has no text under", "has no day beside"),
        *("nothing has been released", "nobody said where", "another place"),
    ],
)
def test_what_a_file_holds_against_a_tag_is_said(clone, how):
    tag = ready(clone)
    spoil(clone, how)
    done = check(clone, tag)
    assert done.returncode == 1
    assert how in done.stderr
    assert "Traceback" not in done.stderr


def test_what_git_holds_against_a_tag_is_said(clone):
    tag = ready(clone)
    assert check(clone, "v7.0.1").stderr.splitlines() == [
        "the tag is v7.0.1, the package says 7.0.0",
        "there is no tag v7.0.1",
    ]
    (clone / "new").write_text("", "utf-8")
    assert check(clone, tag).stderr == "files are changed or not tracked\n"
    git(clone, "add", "-A"), git(clone, "commit", "-qm", "later")
    assert check(clone, tag).stderr.splitlines() == [
        "the tag v7.0.0 is of another commit than this",
        "the main branch does not have this commit",
    ]


def test_a_release_from_another_repository_is_refused(clone):
    done = check(clone, ready(clone), GITHUB_REPOSITORY="fork/novarag")
    assert done.stderr.startswith("this runs in fork/novarag, the project lives elsewhere")


def test_all_that_is_wrong_is_said_at_once(clone):
    done = check(clone, "v9.9.9")
    assert len(done.stderr.splitlines()) >= 4


def test_a_version_is_put_into_three_files_and_the_next_section_is_empty(clone):
    ready(clone, "7.0.0rc1")
    assert release.stated(clone) == "7.0.0rc1"
    cited = yaml.safe_load((clone / "CITATION.cff").read_text("utf-8"))
    assert (cited["version"], cited["date-released"]) == ("7.0.0rc1", DAY)
    known = release.sections(clone)
    assert list(known)[:2] == ["Unreleased", "7.0.0rc1"]
    assert known["Unreleased"] == ("", "")
    assert known["7.0.0rc1"][0] == "2030-01-02"
    assert "Nothing has been released" not in (clone / "CHANGELOG.md").read_text("utf-8")
    change(clone, "CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- Mended.\n")
    release.prepare("7.0.0", DAY, clone)
    text = (clone / "CITATION.cff").read_text("utf-8")
    assert text.count("date-released") == text.count("\nversion: ") == 1


@pytest.mark.parametrize("version", ["0.0.1", "7.0.0", "7.0", "v7.0.1", "07.0.1", "7.0.1rc0", "7.0.1;x"])  # fmt: skip
def test_a_version_that_cannot_be_next_is_refused_and_nothing_is_written(clone, version):
    ready(clone)
    change(clone, "CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- A thing.\n")
    before = {name: (clone / name).read_bytes() for name in KEPT}
    with pytest.raises(SystemExit):
        release.prepare(version, DAY, clone)
    assert {name: (clone / name).read_bytes() for name in KEPT} == before


def test_a_release_that_changes_nothing_is_refused(clone):
    ready(clone)
    with pytest.raises(SystemExit, match="says nothing"):
        release.prepare("7.0.1", DAY, clone)


versions = st.tuples(*[st.integers(0, 30)] * 3, st.none() | st.integers(1, 30))


@given(versions, versions)
def test_versions_are_ordered_as_indexes_order_them(one, other):
    from packaging.version import Version

    a, b = (".".join(map(str, v[:3])) + (f"rc{v[3]}" if v[3] else "") for v in (one, other))
    assert (release.order(a) < release.order(b)) == (Version(a) < Version(b))


def test_pages_of_an_older_release_or_a_candidate_are_not_the_latest(clone):
    ready(clone, "7.0.0")
    git(clone, "tag", "v7.1.0"), git(clone, "tag", "v8.0.0rc1"), git(clone, "tag", "very-old")
    for version, name in (
        ("7.0.0", ""),
        ("7.1.0", "latest"),
        ("8.0.0rc1", ""),
        ("8.0.0", "latest"),
    ):
        words = [sys.executable, "-m", "tools.release", "alias", version]
        done = subprocess.run(words, cwd=clone, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == name, version


def test_notes_are_the_section_with_links_that_work_elsewhere(clone):
    tag = ready(clone)
    change(clone, "CHANGELOG.md", "## [7.0.0] - 2030-01-02\n", "## [7.0.0] - 2030-01-02\n\n[a](docs/ci.md#x), [b](https://example.com)\n")  # fmt: skip
    told = release.notes(tag, clone)
    assert "[a](https://github.com/some-body/novarag/blob/v7.0.0/docs/ci.md#x)" in told
    assert "[b](https://example.com)" in told
    assert "## [" not in told


def test_a_release_is_announced_with_its_notes_and_archives_and_a_candidate_as_one(clone, tmp_path):
    (tmp_path / "gh").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\n', "utf-8")
    (tmp_path / "gh").chmod(0o755)
    (clone / "out/dist").mkdir(parents=True)
    for name in ("dist/a.whl", "dist/a.tar.gz", "sbom.json", "notes.md"):
        (clone / "out" / name).write_text("", "utf-8")
    for tag, candidate in (("v7.0.0", False), ("v7.0.0rc1", True)):
        words = ["bash", ".ci/release/announce", tag, "out"]
        told = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        subprocess.run(words, cwd=clone, env=told, check=True)
        called = (tmp_path / "called").read_text("utf-8").split("\n")
        assert called[:4] == ["release", "create", tag, "--verify-tag"]
        assert ("--prerelease" in called) == candidate
        assert {"out/dist/a.whl", "out/dist/a.tar.gz", "out/sbom.json", "out/notes.md"} <= set(called)  # fmt: skip


def test_every_file_that_names_the_place_agrees_with_it():
    assert owner.stale() == []
    if owner.read_home() is None:
        for name in ("mkdocs.yml", "CITATION.cff"):
            assert "github.com" not in (ROOT / name).read_text("utf-8")


def test_one_command_fills_all_and_another_moves_all(clone, capsys):
    owner.main([], clone)
    assert "nowhere yet" in capsys.readouterr().out
    owner.main(["some-body/novarag"], clone)
    first = {name: (clone / name).read_text("utf-8") for name in owner.FILES}
    assert all("some-body/novarag" in text for text in first.values())
    owner.main(["Else/where.ai", "--site", "https://docs.example.com"], clone)
    for name, before in first.items():
        text = (clone / name).read_text("utf-8")
        assert "Else/where.ai" in text
        assert "some-body" not in text
        assert owner.PLACEHOLDER not in text
        assert len(text.splitlines()) == len(before.splitlines())
    owner.main(["some-body/novarag"], clone)
    assert {name: (clone / name).read_text("utf-8") for name in owner.FILES} == first
    owner.main([], clone)
    assert "https://github.com/some-body/novarag" in capsys.readouterr().out


def test_what_was_filled_is_read_by_the_tools_that_it_is_for(clone):
    owner.main(["some-body/novarag", "--site", "https://docs.example.com/n"], clone)
    urls = tomllib.loads((clone / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert urls["Documentation"] == "https://docs.example.com/n/"
    assert tomllib.loads((clone / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    cited = yaml.safe_load((clone / "CITATION.cff").read_text("utf-8"))
    assert cited["repository-code"] == urls["Repository"] == "https://github.com/some-body/novarag"
    site = yaml.safe_load((clone / "mkdocs.yml").read_text("utf-8"))
    assert (site["site_url"], site["repo_url"]) == (cited["url"], urls["Repository"])
    change(clone, "mkdocs.yml", "docs.example.com", "other.example.com")
    with pytest.raises(SystemExit, match=r"mkdocs\.yml"):
        owner.main([], clone)


@pytest.mark.parametrize(
    "words",
    [
        ["novarag"], ["a/b/c"], ["-x/y"], ["a b/c"], ["a/b\n"], ['a"/b'], ["--site"], ["a/b", "--site"],
        ["a/b", "--site", "http://x.org"], ["a/b", "--site", "https://x.org/?q"], ["a/b", "c"],
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused_and_nothing_is_written(clone, words):
    before = {name: (clone / name).read_bytes() for name in KEPT}
    with pytest.raises(SystemExit):
        owner.main(words, clone)
    assert {name: (clone / name).read_bytes() for name in KEPT} == before
