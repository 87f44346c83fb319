"""Can a group be told from the looks of its passages alone?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.flows.inputs import iter_given
from novarag.noise.group_build import MARGIN

if TYPE_CHECKING:
    from novarag.flows.inputs import GroupsInput
    from novarag.noise.audit import ShortcutAudit


def audit_groups(groups: GroupsInput, *, margin: float = MARGIN, seed: int = 0) -> ShortcutAudit:
    """Try to tell each group from the looks of its passages, cue by cue.

    Args:
        groups: Groups with labelled passages: a file (JSONL, Parquet, CSV), or `PassageGroup`
            objects.
        margin: By how much a cue may beat the most common group, as a share of one; one that beats
            it by more, with an interval above zero, is one of the `shortcuts`.
        seed: Seed of the folds, of the bootstrap, and of the sample of questions where there are
            very many.
    """
    from novarag.noise.audit import audit

    return audit(list(iter_given(groups)), margin=margin, seed=seed)
