"""Methods that ask how likely the model found the words of its own answer.

A reply says more than its answer: labels, steps, a confidence. Only the tokens that hold a part of
the answer count, so the place of the answer among the tokens must be found again. The reply is
read by the reader of its strategy, or, where a strategy is not ours, by the usual labels; if that
yields another answer than the trial's, the last place counts where the trial's answer stands. Then
the line up to the end of the answer is looked for among the tokens, from the end: tokens may hold
more than the text, such as thoughts before it and a stop sign after it.
"""

from __future__ import annotations

from math import exp, isnan
from statistics import fmean
from typing import TYPE_CHECKING

from novarag.records import Flaw, Response
from novarag.strategies import STRATEGIES, VANILLA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from novarag.records import Reading, Trial


def likelihood(greedy: Sequence[Trial]) -> Response | Flaw:
    """Return the answer with the probability of its tokens: their product."""
    return _stating(greedy[0], sum)


def perplexity(greedy: Sequence[Trial]) -> Response | Flaw:
    """Return the answer with the inverse perplexity of its tokens: their geometric mean."""
    return _stating(greedy[0], fmean)


def _stating(trial: Trial, combine: Callable[[Sequence[float]], float]) -> Response | Flaw:
    stated = trial.response
    if stated is None:
        return trial.flaw or Flaw.EMPTY
    found = from_tokens(trial, stated, combine)
    return found if isinstance(found, Flaw) else Response(answer=stated.answer, confidence=found)


def from_tokens(
    trial: Trial,
    stated: Response,
    combine: Callable[[Sequence[float]], float],
    reading: Reading | None = None,
) -> float | Flaw:
    """Return what the log-probabilities of the answer's tokens come to, as a probability.

    `reading` is what the strategy's reader made of the reply, for callers who have it.
    """
    said = trial.completion
    if not said.logprobs or len(said.logprobs) != len(said.tokens):
        return Flaw.NO_LOGPROBS
    start = _in_text(trial, stated, reading)
    whole = "".join(said.tokens)
    first, last = _among_tokens(whole, said.text, start, start + len(stated.answer))
    held = said.logprobs[_held(said.tokens, len(whole), first, last)]
    if not held:
        return Flaw.UNPLACED
    total = combine(held)
    return Flaw.NO_LOGPROBS if isnan(total) else exp(min(0.0, total))


def _held(tokens: Sequence[str], length: int, first: int, last: int) -> slice:
    """Return which tokens hold a part of a span; sought from the end, where answers stand."""
    at, stop = len(tokens), 0
    while at and length > first:
        at -= 1
        length -= len(tokens[at])  # where the token begins
        if not stop and length < last:
            stop = at + 1
    return slice(at, stop)


def _in_text(trial: Trial, stated: Response, reading: Reading | None) -> int:
    """Return where the answer begins in the text of the reply; below zero if nowhere."""
    text = trial.completion.text
    if reading is None:
        reading = STRATEGIES.get(trial.strategy, VANILLA).read(text, group=trial.group)
    if reading.answer == stated.answer:
        return text.find(stated.answer, *reading.spans["answer"])
    return text.rfind(stated.answer)


def _among_tokens(whole: str, text: str, start: int, end: int) -> tuple[int, int]:
    """Take a span of the text to the tokens; an empty one if its line is not there."""
    if start < 0:
        return 0, 0
    line = text.rfind("\n", 0, start) + 1
    wanted = text[line:end]
    at = len(whole)
    for _ in range(1 + text.count(wanted, end)):  # as many from the end as in the text
        at = whole.rfind(wanted, 0, at)
        if at < 0:
            return 0, 0
    return at + start - line, at + end - line


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
