"""Signals beside the stated confidence that one reply gives: what its tokens say of the answer.

A calibration may use one of them by its name. Past answers and live ones go through `token_signal`,
so that a name means the same number in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.records import Flaw
from novarag.uncertainty.likely import likelihood, perplexity

if TYPE_CHECKING:
    from novarag.records import Trial

TOKEN_SIGNALS = {"likelihood": likelihood, "perplexity": perplexity}
"""The signals by name; each needs the log-probabilities of the reply's tokens."""


def token_signal(name: str, trial: Trial) -> float | None:
    """Return what the tokens of a reply say of its answer; None where they are not there."""
    found = TOKEN_SIGNALS[name]([trial])
    return None if isinstance(found, Flaw) else found.confidence
