"""A folder that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def whole_folder(out: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """Give a draft of a folder to write into, and put it in place once all of it is written.

    `check` raises where something is in the place that must not be replaced.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100 - a link in the path stays a link
    _sweep(out)
    check(out)
    draft, old = (out.with_name(f".{out.name}.{os.getpid()}.{end}") for end in ("draft", "old"))
    try:
        draft.mkdir(parents=True)
        yield draft
        if out.exists():
            out.rename(old)
        draft.rename(out)
    except OSError as error:
        raise StorageError(
            f"cannot write {out}: {error.strerror or error}. Mend that and try again."
        ) from error
    finally:
        if old.exists() and not out.exists():
            with suppress(OSError):
                old.rename(out)
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _sweep(out: Path) -> None:
    """Clear away what killed writers of this place left; what they were to replace stays."""
    for left in sorted(out.parent.glob(".*.*.*")):
        name, number, end = left.name[1:].rsplit(".", 2)
        if name != out.name or not number.isdigit() or _is_anothers(int(number)):
            continue
        if end == "old" and not out.exists():
            left.rename(out)
        elif end in {"draft", "old"}:
            shutil.rmtree(left, ignore_errors=True)


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
