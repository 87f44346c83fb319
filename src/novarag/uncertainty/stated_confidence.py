"""Methods that take a confidence as it was stated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.records import Flaw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import Response, Trial


def verbal(greedy: Sequence[Trial]) -> Response | Flaw:
    """Return what the reply states."""
    return greedy[0].response or greedy[0].flaw or Flaw.EMPTY
