"""What came of drawing passages into groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.defaults import GROUP
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.noise.audit import ShortcutAudit
    from novarag.records import PassageGroup

TRAINING = "training"
"""The mix that gives every question its three training groups, which looks do not tell apart."""

ONE_GOLD = "one-gold"
"""The mix that gives every question its three groups with one gold passage, as the paper has it."""

THREE_GROUPS = (TRAINING, ONE_GOLD)
"""The mixes that give every question a group of each kind."""

MARGIN = GROUP.margin
"""By how much a cue may beat the most common group before it counts as a shortcut."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupBuild:
    """Groups that were built, and what was left out and why.

    `faults` counts passages by what is wrong with them, `short` counts questions by what they
    lack. Where the groups were audited `audit` has the findings; where that was wished but could
    not be, `unaudited` says why.
    """

    groups: list[PassageGroup] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    short: Counter[str] = field(default_factory=Counter)
    audit: ShortcutAudit | None = None
    unaudited: str | None = None

    @property
    def has_shortcut(self) -> bool:
        """Say whether an audit told groups apart by their looks."""
        return self.audit is not None and bool(self.audit.shortcuts)

    def add(self, other: GroupBuild) -> None:
        """Take in what was built of other questions."""
        self.groups.extend(other.groups)
        self.faults.update(other.faults)
        self.short.update(other.short)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        kinds = Counter(str(g.kind) for g in self.groups)
        counted = ", ".join(f"{n:,} {kind}" for kind, n in sorted(kinds.items()))
        questions = len({g.question.id for g in self.groups})
        yield f"{len(self.groups):,} groups of {questions:,} questions: {counted}"
        for fault, count in self.faults.most_common():
            yield f"left out: {count:,} passages: {fault}"
        for reason, count in self.short.most_common():
            yield f"left out: {count:,} questions: {plain_text(reason)}"
        if self.unaudited is not None:
            yield f"not audited: {self.unaudited}"
        if self.audit is not None:
            yield repr(self.audit)
