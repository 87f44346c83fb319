"""Signals beside the stated confidence that one reply gives: what its tokens say of the answer.

A calibration may use one of them by its name. Past answers and live ones go through `token_signal`,
so that a name means the same number in both.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from novarag.records import Flaw
from novarag.uncertainty.token_likelihood import from_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from novarag.records import Reading, Trial

TOKEN_SIGNALS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "likelihood": sum,
    "perplexity": fmean,
}
"""How each signal combines log-probabilities of tokens; named as the method that states it."""


def token_signal(name: str, trial: Trial, reading: Reading | None = None) -> float | None:
    """Return what the tokens of a reply say of its answer; None where they are not there.

    `reading` saves reading the reply again to find the answer in it.
    """
    if trial.response is None:
        return None
    found = from_tokens(trial, trial.response, TOKEN_SIGNALS[name], reading)
    return None if isinstance(found, Flaw) else found
