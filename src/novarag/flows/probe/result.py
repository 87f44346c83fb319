"""What `probe` returns: a card of relations, the replies behind it, and what they took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.calls import Cost
    from novarag.probes import ProbeCard
    from novarag.probes import ProbeReplies as Replied


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProbeResult:
    """What a probe found: a card of relations, and what it took.

    `replies` are the questions with what was said to each variant of their passages. `unmade`
    counts for each variant the questions of which it could not be made, `dead` the calls that
    failed by how they did, `flaws` why replies could not be read.
    """

    card: ProbeCard
    system: str
    strategy: str
    profile: str
    temperature: float
    seed: int
    available: int
    replies: tuple[Replied, ...]
    unmade: Mapping[str, int]
    flaws: Mapping[str, int]
    dead: Mapping[str, int]
    cost: Cost

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of the relations that are broken."""
        return tuple(finding.relation.name for finding in self.card.broken)

    def __repr__(self) -> str:
        """Show the first line of the page, and each relation with its verdict."""
        from novarag.report.probe import probe_verdict

        card, dead = self.card, sum(self.dead.values())
        lines = [
            f"ProbeResult({plain_text(self.system)}, {self.profile}: {card.questions:,} questions,"
            f" {card.replies:,} replies, {card.unread:,} unread, {dead:,} failed",
            f"  {probe_verdict(card).line}",
            *(f"  {found.verdict}: {found.relation.title}" for found in card.findings),
        ]
        return "\n".join(lines) + ")"

    def _repr_html_(self) -> str:
        from novarag.report.fragments import show_probe

        return show_probe(self.card, self.system, self.profile, self.dead)
