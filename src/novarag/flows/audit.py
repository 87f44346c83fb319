"""Can a group be told from the looks of its passages alone?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.flows.given import iter_given
from novarag.noise.group_build import MARGIN

if TYPE_CHECKING:
    from novarag.flows.given import Given
    from novarag.noise.audit import Audit


def audit_groups(groups: Given, *, margin: float = MARGIN, seed: int = 0) -> Audit:
    """Try to tell each group from the looks of its passages, cue by cue.

    `groups` is a file of groups with labelled passages, or the groups. A cue that beats the most
    common group by more than `margin`, with an interval above zero, is one of the `shortcuts`.
    """
    from novarag.noise.audit import audit

    return audit(list(iter_given(groups)), margin=margin, seed=seed)
