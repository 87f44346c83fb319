"""Are contradictions of stale manuals found, and is anything else called one?

    python -m validation.annotation_manuals

450 made-up manuals (tests/support/manuals.py), of whose facts 15 % are stated otherwise by an older
edition: units, dates and names, of which a part often stays. Then the consistent groups (k=3) of
the released test files, in which no passage states another answer. Both as `annotate` does by
default: passages are expected to be retrieved. What older manuals say in other words is counted
too, and not claimed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from novarag.annotation import LEAST, annotate, settled
from novarag.datasets.benchmark import load_benchmark
from novarag.stats.exact import upper_bound
from novarag.taxonomy import GroupKind, PassageKind, group_kind
from tests.support.manuals import made_up_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import PassageGroup

MANUALS, SEEDS = 450, (33, 34, 35)
FOUND, FALSE = 0.9, 0.02
SETS = ("hotpotqa", "nq", "bamboogle", "strategyqa")
OTHER = PassageKind.COUNTERFACTUAL


@dataclass(frozen=True, slots=True)
class Counted:
    """Contradictions that are there and were found, and other passages that were called one."""

    contradictions: int
    found: int
    others: int
    false: int

    @property
    def share(self) -> float:
        """The share of contradictions that were found."""
        return self.found / max(self.contradictions, 1)


def count_manuals(groups: Sequence[PassageGroup]) -> Counted:
    """Hold verdicts against the known kinds of passages."""
    rows = [
        (passage.kind is OTHER, settled(verdict, LEAST) is OTHER)
        for group, verdicts in zip(groups, annotate(groups), strict=True)
        for passage, verdict in zip(group.passages, verdicts, strict=True)
    ]
    return Counted(
        contradictions=sum(known for known, _ in rows),
        found=sum(known and said for known, said in rows),
        others=sum(not known for known, _ in rows),
        false=sum(said and not known for known, said in rows),
    )


def count_consistent(name: str) -> tuple[int, int]:
    """Count the consistent groups of a test file, and those with a passage called another answer."""
    groups = [
        group
        for group in load_benchmark(name, part="test", k=3)
        if group_kind([p.kind for p in group.passages if p.kind is not None])
        is GroupKind.CONSISTENT
    ]
    called = [any(settled(a, LEAST) is OTHER for a in row) for row in annotate(groups)]
    return len(groups), sum(called)


def _claim(holds: bool, text: str) -> bool:
    print(f"{'ok  ' if holds else 'MISS'}  {text}")
    return holds


def main() -> int:
    """Print what was found, and fail where too little was, or too much."""
    print(f"{os.cpu_count()} shared cores, {datetime.now(UTC):%Y-%m-%d}")
    held = []
    for seed in SEEDS:
        groups = list(made_up_groups(MANUALS, seed=seed))
        c = count_manuals(groups)
        text = (
            f"{MANUALS} manuals, {len(groups):,} groups, seed {seed}: {c.found} of"
            f" {c.contradictions} contradictions found ({c.share:.1%}), {c.false} of"
            f" {c.others:,} other passages called one"
        )
        held.append(_claim(c.share >= FOUND and c.false <= FALSE * c.others, text))
    c = count_manuals(list(made_up_groups(MANUALS, seed=SEEDS[0], reworded=True)))
    print(f"      older manuals in other words: {c.found} of {c.contradictions} ({c.share:.1%})")
    counts = {name: count_consistent(name) for name in SETS}
    for name, (groups_held, called) in counts.items():
        print(f"      {name}: {called} of {groups_held} consistent groups (k=3) called conflicting")
    total, false = (sum(pair[i] for pair in counts.values()) for i in (0, 1))
    bound = upper_bound(false, total, 0.05)
    text = f"released data: {false} of {total} consistent groups false, at most {bound:.1%} (95 %)"
    held.append(_claim(false <= FALSE * total, text))
    return 0 if all(held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
