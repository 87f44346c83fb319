"""Files and folders that are there whole or not at all, even after a power cut.

All that is written for good is written here, with one durability: a draft beside the place is
written and synced, then renamed, then the folder around it is synced. A draft is called
.NAME.PROCESS.draft; what a killed process left is swept away by the next writer of its place.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from novarag.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def whole_file(
    path: Path, *, durable: bool = True, sweep: bool = True, mode: int | None = None
) -> Iterator[BinaryIO]:
    """Give a draft of a file to write into, and put it in place once all of it is written.

    Where the writer raises, what was there stays. `durable=False` is for leases and stop signs
    alone: they are for processes that live, and mean nothing after a power cut. `sweep=False`
    leaves the drafts of dead processes to the caller: those of another machine look dead from here.
    `mode` says who may read it, whatever the umask; without, the umask does.
    """
    place = resolved(path) if path.is_symlink() else path
    if place.exists() and not place.is_file():  # a pipe or a device is written into, not replaced
        with path.open("wb") as file:
            yield file
        return
    if sweep:
        _sweep(place)
    draft = _beside(place, "draft")
    try:
        with draft.open("wb") as file:
            if mode is not None:
                allow(file.fileno(), mode)
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(place)
        if durable:
            sync(place.parent)
    except OSError as error:
        if error.filename != str(draft):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def resolved(path: Path) -> Path:
    """Return a path without links, which need not be there; OSError where they go in a loop."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:  # `resolve` raises something else, or nothing
            raise
    return path.resolve()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, in a folder that is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_folder(out: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """Give a draft of a folder to write into, and put it in place once all of it is written.

    `check` raises where something is in the place that must not be replaced.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100 - a link in the path stays a link
    _sweep(out)
    check(out)
    draft, old = _beside(out, "draft"), _beside(out, "old")
    try:
        draft.mkdir(parents=True)
        yield draft
        _sync_all(draft)
        if out.exists():
            out.rename(old)
        draft.rename(out)
        sync(out.parent)
    except OSError as error:
        raise StorageError(
            f"cannot write {out}: {error.strerror or error}. Fix that and try again."
        ) from error
    finally:
        if old.exists() and not out.exists():
            with suppress(OSError):
                old.rename(out)
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def drafts_of(path: Path) -> list[Path]:
    """List the drafts of a file or folder that are being written or were left behind."""
    return [left for left, _, end in _beside_of(path) if end == "draft"]


def allow(place: Path | int, mode: int) -> None:
    """Say who may read a file or folder; a folder that hands down its group goes on doing so.

    Where the disk knows no owners, or the file is somebody else's, it stays as it is.
    """
    with suppress(OSError):
        handed_down = os.stat(place).st_mode & stat.S_ISGID  # noqa: PTH116 - or a descriptor
        os.chmod(place, mode | handed_down)  # noqa: PTH101


def sync(path: Path) -> None:
    """See that a file, or the list of a folder's files, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_all(folder: Path) -> None:
    """See that a folder and all it holds are on the disk."""
    for path in folder.rglob("*"):
        if path.is_file() or path.is_dir():
            sync(path)
    sync(folder)


def _beside(path: Path, end: str) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{end}")


def _beside_of(path: Path) -> Iterator[tuple[Path, int, str]]:
    """Find what writers of a place put beside it, with their numbers and how it ends."""
    for left in sorted(path.parent.glob(".*.*.*")):
        name, number, end = left.name[1:].rsplit(".", 2)
        if name == path.name and number.isdecimal():
            yield left, int(number), end


def _sweep(out: Path) -> None:
    """Clear away what killed writers of this place left; what they were to replace stays."""
    for left, number, end in _beside_of(out):
        if end not in {"draft", "old"} or _is_anothers(number):
            continue
        if end == "old" and not out.exists():
            left.rename(out)
        elif left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _is_anothers(process: int) -> bool:
    """Say whether another process that lives has this number."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's, but it lives
        return True
    return True
