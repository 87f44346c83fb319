"""Checkpoints that can be trusted: sealed with a hash of every file, the last two kept.

A kill while one is written leaves a folder without a seal, or with one that does not fit. Such a
folder is cleared away, and the training goes on from the one before.
"""

from __future__ import annotations

import shutil
from hashlib import file_digest
from typing import TYPE_CHECKING

import orjson

from novarag.atomic import drafts_of, sync, write_whole

if TYPE_CHECKING:
    from pathlib import Path

SEAL = "sealed.json"
KEPT = 2  # the newest, and one before it should that be damaged
_PREFIX = "checkpoint-"  # the trainer's own name for them


def seal(folder: Path) -> None:
    """Write down the hash of every file, once all of it is on the disk."""
    sums = {}
    for path in _files(folder):
        sync(path)
        sums[path.relative_to(folder).as_posix()] = _hash(path)
    write_whole(folder / SEAL, orjson.dumps(sums))
    sync(folder.parent)


def is_sealed(folder: Path) -> bool:
    """Say whether the files are those that were sealed, no more and no fewer, and as they were."""
    try:
        sums = orjson.loads((folder / SEAL).read_bytes())
        there = {path.relative_to(folder).as_posix(): path for path in _files(folder)}
        if not there or sums.keys() != there.keys():
            return False
        return all(_hash(path) == sums[name] for name, path in there.items())
    except (OSError, orjson.JSONDecodeError, AttributeError):
        return False


def newest(folder: Path, *, clear: bool = True) -> tuple[Path | None, list[str]]:
    """Return the last sealed checkpoint, and the names of later ones that no seal vouches for.

    These are cleared away, unless another process is about to do that.
    """
    damaged: list[str] = []
    for path in reversed(_checkpoints(folder)):
        if is_sealed(path):
            return path, damaged
        if clear:
            shutil.rmtree(path)
        damaged.append(path.name)
    return None, damaged


def keep_last(folder: Path) -> None:
    """Remove all but the last checkpoints; called when the newest is sealed."""
    for path in _checkpoints(folder)[:-KEPT]:
        shutil.rmtree(path)


def step_of(checkpoint: Path) -> int:
    """Return the step after which a checkpoint was written."""
    return int(checkpoint.name.removeprefix(_PREFIX))


def _checkpoints(folder: Path) -> list[Path]:
    found = [p for p in folder.glob(f"{_PREFIX}*") if p.name.removeprefix(_PREFIX).isdecimal()]
    return sorted(found, key=step_of)


def _files(folder: Path) -> list[Path]:
    ours = {folder / SEAL, *drafts_of(folder / SEAL)}
    return sorted(p for p in folder.rglob("*") if p.is_file() and p not in ours)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
