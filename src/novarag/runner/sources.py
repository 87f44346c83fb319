"""Groups to ask about, from a file or as they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.records import PassageGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Groups = str | Path | Iterable[PassageGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSource:
    """Where groups come from: read twice, known by its hash."""

    groups: Callable[[], Iterable[PassageGroup]]
    name: str
    hash: str = ""


def source_of(groups: Groups, *, name: str = "groups", hash: str = "") -> GroupSource:  # noqa: A002
    """Take groups from a file, which has a name and a hash of its own, or as they are.

    Args:
        groups: The path of a file, or `PassageGroup` objects.
        name: What a run calls groups that are in no file.
        hash: What tells such groups from others of that name; a run holds its groups, so that it
            is needed only where a story must know them before.
    """
    from novarag.datasets import iter_groups

    if isinstance(groups, (str, Path)):
        path = Path(groups)
        return GroupSource(groups=partial(iter_groups, path), name=path.name, hash=hash_of(path))
    return GroupSource(groups=partial(iter, [as_group(g) for g in groups]), name=name, hash=hash)


def as_group(given: object) -> PassageGroup:
    """Return what is a group, or say what was expected."""
    if not isinstance(given, PassageGroup):
        raise TypeError(
            "groups must be the path of a file, or PassageGroup objects, not"
            f" {type(given).__name__}"
        )
    return given


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file that must be there."""
    from novarag.answers.opening.files import existing

    with existing(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
