"""Prepare a release, check that a tag may become one, and print its notes.

Usage: python -m tools.release prepare VERSION | check TAG | notes TAG | alias VERSION

`prepare` puts a version into the package, CITATION.cff and CHANGELOG.md. `check` says all that
stands between a tag and its release. `notes` prints the changelog's section with links that lead
somewhere outside the repository, too. `alias` prints `latest` for a version whose pages are to be
read by whoever names none. Nothing but Python and git is needed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from tools import owner

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:rc([1-9]\d*))?")
"""A release, or a candidate for one: the two forms that tags of the workflow have."""
STATED = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
"""Where the package says its version."""
CITED = re.compile(r"^version: (.+)\n(?:date-released: .+\n)?", re.MULTILINE)
"""Where CITATION.cff says it, and the day of its release."""
SECTION = re.compile(r"^## \[(.+?)\](?: - (\S+))?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""A part of the changelog: its name, its day, its text."""
NOTHING_YET = re.compile(r" Nothing has been released yet:[^.]*(?:\.\d[^.]*)*\.")
"""What the changelog says until the first release; the point of a version ends no sentence."""
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")
"""A link to a file of the repository."""


def order(version: str) -> tuple[int, ...]:
    """Give what versions are sorted by; a candidate stands before its release.

    >>> order("0.2.0rc1") < order("0.2.0") < order("0.10.0")
    True
    """
    found = VERSION.fullmatch(version)
    if not found:
        raise SystemExit(f"{version!r} is no version such as 0.2.0 or 0.2.0rc1")
    *numbers, candidate = found.groups()
    return *map(int, numbers), int(candidate) if candidate else sys.maxsize


def _text(root: Path, name: str) -> str:
    return (root / name).read_text("utf-8")


def stated(root: Path = ROOT) -> str:
    """Read the package's version, without importing it."""
    [version] = STATED.findall(_text(root, "src/novarag/version.py"))
    return version


def sections(root: Path = ROOT) -> dict[str, tuple[str, str]]:
    """Read the changelog: the day and the text of each version."""
    parts = SECTION.findall(_text(root, "CHANGELOG.md"))
    return {name: (day, text.strip()) for name, day, text in parts}


def prepare(version: str, today: date, root: Path = ROOT) -> None:
    """Put a version into the three files that say it."""
    now, known = stated(root), sections(root)
    if order(version) < order(now) or version in known:
        raise SystemExit(f"{version} is not newer than {now}, or stands in CHANGELOG.md already")
    if not known.get("Unreleased", ("", ""))[1]:
        raise SystemExit(
            "CHANGELOG.md says nothing under [Unreleased]: a release changes something"
        )
    head = f"## [Unreleased]\n\n## [{version}] - {today}\n"
    log = NOTHING_YET.sub("", _text(root, "CHANGELOG.md")).replace("## [Unreleased]\n", head, 1)
    stays = STATED.sub(f'__version__ = "{version}"', _text(root, "src/novarag/version.py"))
    cited = CITED.sub(f"version: {version}\ndate-released: {today}\n", _text(root, "CITATION.cff"))
    for name, text in (
        ("CHANGELOG.md", log),
        ("src/novarag/version.py", stays),
        ("CITATION.cff", cited),
    ):
        (root / name).write_text(text, encoding="utf-8")


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """Say all that files hold against a release by this tag."""
    version, here = stated(root), read_asked()
    [cited] = CITED.findall(_text(root, "CITATION.cff"))
    home = owner.read_home(root)
    day, text = sections(root).get(version, ("", ""))
    found = {
        f"the tag is {tag}, the package says {version}": tag != f"v{version}",
        f"{version} is no version such as 0.2.0 or 0.2.0rc1": not VERSION.fullmatch(version),
        f"CITATION.cff says {cited}": cited != version,
        f"CHANGELOG.md has no text under [{version}]": not text,
        f"CHANGELOG.md has no day beside [{version}]": not _is_day(day),
        "CHANGELOG.md says that nothing has been released": bool(
            NOTHING_YET.search(_text(root, "CHANGELOG.md"))
        ),
        "nobody said where the project lives: python -m tools.owner OWNER/NAME": home is None,
        f"this runs in {here}, the project lives elsewhere: python -m tools.owner {here}": bool(
            home and here and home.repository != here
        ),
    }
    stale = [
        f"{name} says another place: give it to tools.owner again" for name in owner.stale(root)
    ]
    return [*(says for says, holds in found.items() if holds), *stale]


def read_asked() -> str:
    """Name the repository that a workflow runs in; nothing elsewhere."""
    return os.environ.get("GITHUB_REPOSITORY", "")


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def git_problems(tag: str, root: Path = ROOT) -> list[str]:
    """Say all that git holds against it: the tag is here, nothing is changed, main has it."""

    def git(*words: str) -> tuple[bool, str]:
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=False
        )
        return done.returncode == 0, done.stdout.strip()

    known, tagged = git("rev-parse", "--verify", "--quiet", f"refs/tags/{tag}^{{commit}}")
    found = {
        f"there is no tag {tag}": not known,
        f"the tag {tag} is of another commit than this": known
        and git("rev-parse", "HEAD")[1] != tagged,
        "files are changed or not tracked": bool(git("status", "--porcelain")[1]),
        "the main branch does not have this commit": not git(
            "merge-base", "--is-ancestor", "HEAD", "refs/remotes/origin/main"
        )[0],
    }
    return [says for says, holds in found.items() if holds]


def notes(tag: str, root: Path = ROOT) -> str:
    """Take the changelog's section, with links to the files as they are at the tag."""
    _, text = sections(root)[tag.removeprefix("v")]
    home = owner.read_home(root)
    if home is None:
        return text
    return LINK.sub(lambda link: f"]({home.page}/blob/{tag}/{link[1]})", text)


def alias(version: str, tags: list[str]) -> str:
    """Name the pages of the newest release `latest`; those of a candidate or an older one have no name.

    >>> alias("0.2.0", ["v0.2.0", "v0.1.0", "v0.3.0rc1", "begun"])
    'latest'
    >>> alias("0.2.0", ["v0.2.1"]), alias("0.3.0rc1", [])
    ('', '')
    """
    others = [tag[1:] for tag in tags if tag[:1] == "v" and VERSION.fullmatch(tag[1:])]
    newer = [one for one in others if "rc" not in one and order(one) > order(version)]
    return "" if newer or "rc" in version else "latest"


def main(words: list[str]) -> None:
    """Do what the words say."""
    match words:
        case ["prepare", version]:
            prepare(version, datetime.now(UTC).date())
            print(f"{version}: now read and commit it, then `git tag v{version}`")
        case ["check", tag]:
            if wrong := problems(tag) + git_problems(tag):
                raise SystemExit("\n".join(wrong))
            print(f"{tag}: version, changelog, citation, place and commit agree")
        case ["notes", tag]:
            print(notes(tag))
        case ["alias", version]:
            order(version)
            listed = ["git", "tag", "--list", "v*"]
            done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
            print(alias(version, done.stdout.split()))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
