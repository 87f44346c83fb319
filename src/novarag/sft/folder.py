"""A folder that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from novarag.errors import StorageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CARD = "card.json"
README = "README.md"
MADE_BY = "novarag export"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file as it was written."""

    name: str
    size: int
    sha256: str


def write_file(folder: Path, name: str, chunks: Iterable[bytes]) -> Written:
    """Write a file piece by piece, and say what was written."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    hashed, size = sha256(), 0
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            hashed.update(chunk)
            size += len(chunk)
        file.flush()
        os.fsync(file.fileno())
    return Written(name=name, size=size, sha256=hashed.hexdigest())


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Give a draft of a folder to write into, and put it in place once all of it is written."""
    out = Path(os.path.abspath(out))  # noqa: PTH100 - a link in the path stays a link
    _sweep(out)
    check_free(out)
    draft, old = (out.with_name(f".{out.name}.{os.getpid()}.{end}") for end in ("draft", "old"))
    try:
        draft.mkdir(parents=True)
        yield draft
        if out.exists():
            out.rename(old)
        draft.rename(out)
    except OSError as error:
        raise StorageError(
            f"cannot write {out}: {error.strerror or error}. Mend that and export again."
        ) from error
    finally:
        if old.exists() and not out.exists():
            with suppress(OSError):
                old.rename(out)
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def check_free(out: Path) -> None:
    """Refuse a place with anything but an earlier export in it."""
    if not out.name:
        raise UsageError(f"{out} cannot be written to; name a folder")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"{out} is not a folder; name another with --out")
    if not out.exists():
        return
    found = {p.relative_to(out).as_posix() for p in out.rglob("*") if not p.is_dir()}
    strange = sorted(found - _of_an_export(out / CARD))
    if strange:
        raise UsageError(
            f"{out} holds {strange[0]!r}, which is no part of an export; name another folder with"
            " --out"
        )


def _of_an_export(card: Path) -> set[str]:
    """List the files of the export that is there, or nothing if none is."""
    try:
        told: Any = orjson.loads(card.read_bytes())
        if told["made_by"] != MADE_BY:
            return set()
        return {CARD, README, *(file["name"] for file in told["files"])}
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return set()


def _sweep(out: Path) -> None:
    """Clear away what killed exports to this place left; the export they were to replace stays."""
    for left in sorted(out.parent.glob(".*.*.*")):
        name, number, end = left.name[1:].rsplit(".", 2)
        if name != out.name or not number.isdigit() or _alive(int(number)):
            continue
        if end == "old" and not out.exists():
            left.rename(out)
        elif end in {"draft", "old"}:
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's, but it lives
        return True
    return True
