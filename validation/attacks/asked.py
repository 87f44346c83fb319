"""Groups to attack: questions of the NOVA benchmark, one group each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag import load_benchmark

if TYPE_CHECKING:
    from novarag import PassageGroup


def some_groups(count: int) -> list[PassageGroup]:
    """Return one labelled group for each of some questions."""
    found: dict[str, PassageGroup] = {}
    for group in load_benchmark("nq"):
        whole = all(len(passage.text) > 40 for passage in group.passages)  # some are left empty
        if group.kind is not None and whole:
            found.setdefault(group.question.id, group)
    return list(found.values())[:count]
