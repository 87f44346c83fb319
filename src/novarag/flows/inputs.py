"""Groups as a caller gives them: a file of them, one of them, or several."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.records import PassageGroup
from novarag.runner.sources import as_group

if TYPE_CHECKING:
    from collections.abc import Iterator

Given = str | Path | PassageGroup | Iterable[PassageGroup]


def iter_given(groups: Given) -> Iterator[PassageGroup]:
    """Read groups from a file, or take them as they are."""
    if isinstance(groups, (str, Path)):
        from novarag.datasets import iter_groups

        return iter_groups(groups)
    if isinstance(groups, Iterable):
        return map(as_group, groups)
    return iter((as_group(groups),))
