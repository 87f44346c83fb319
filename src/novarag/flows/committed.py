"""Files as a commit of git holds them, laid out in a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.atomic import write_whole
from novarag.errors import UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
"""What git sets for its hooks, and what would keep it from looking around a file."""


def checkout(place: Path, commit: str, into: Path) -> Path | None:
    """Write a file or folder as the commit `commit` has it, and return where; None if it has none.

    Filters that a checkout goes through are gone through, so that large files of other stores are
    the files, not what points at them. Links are left out. Nothing of the repository is changed.
    """
    whole = Path(os.path.abspath(place))  # noqa: PTH100 - a link stays what it is
    home, name = whole.parent, whole.name
    wanted = _git(home, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}")
    commit = wanted.decode().strip()
    files = list(_files(home, commit, name))
    for file in files:
        target = into / file
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, _git(home, "cat-file", "--filters", f"{commit}:./{file}"))
    return into / name if files else None


def _files(home: Path, commit: str, name: str) -> Iterator[str]:
    """Name the files of a place in a commit, as seen from the folder it stands in."""
    listed = _git(home, "ls-tree", "-r", "-z", commit, "--", name)
    for row in listed.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = row.partition("\t")
        if about.startswith("100"):
            yield path


def _git(home: Path, *words: str) -> bytes:
    """Call git in a folder, and return what it prints."""
    program = shutil.which("git")
    if program is None:
        raise UsageError.saying("`commit` is a commit of git, and there is no git here")
    quiet = {key: value for key, value in os.environ.items() if key not in _OF_A_HOOK}
    done = subprocess.run(  # noqa: S603 - a list of words, without a shell
        [program, "--literal-pathspecs", "-C", str(home), *words],
        env=quiet,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise UsageError.saying("`commit` cannot be looked at: {}", plain_text(said[0]))
    return done.stdout
