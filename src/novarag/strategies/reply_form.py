"""The form that replies to one prompt are held to, where they have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.strategies.frames import FramedStrategy
from novarag.strategies.table import Strategy

if TYPE_CHECKING:
    from novarag.ports import Asking
    from novarag.records import PassageGroup


def form_of(asking: Asking, group: PassageGroup) -> str | None:
    """Return the regular expression of replies about a group; None where they have no form."""
    if isinstance(asking, FramedStrategy):
        return asking.pattern(group) if asking.strategy.form is not None else None
    if isinstance(asking, Strategy) and asking.form is not None:
        return asking.pattern(len(group.passages))
    return None


def has_form(asking: Asking) -> bool:
    """Say whether the replies to what asks have a form."""
    bare = asking.strategy if isinstance(asking, FramedStrategy) else asking
    return isinstance(bare, Strategy) and bare.form is not None
