"""How large a chat completion may be, from what was asked for.

The factors are generous: a token of natural text takes about four bytes, here it may take 64, so
that escapes, reasoning and a reasoning sent twice have their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.calls import CallError, Outcome

if TYPE_CHECKING:
    from novarag.calls import Sampling

_FRAME = 65_536  # bytes around the samples
_SAMPLE, _TOKEN = 16_384, 64  # bytes around a sample's text, bytes of a token in it
_UNBOUNDED = 1_048_576  # bytes of a sample where no `max_tokens` was set
_UNBOUNDED_TOKENS = 32_768  # tokens with log-probabilities, likewise
_LOGPROB = 256  # bytes of a token with its log-probability, and of each alternative
_VALUES, _VALUES_OF_SAMPLE, _VALUES_OF_LOGPROB = 4096, 512, 64
_MOST_VALUES = 3_000_000  # of one reply, whatever was asked for
_OBJECT = 8  # an empty object or list takes the memory of about eight numbers
_STRETCH = 65_536  # bytes, so that a flood is noticed before all of it is split
_STRUCTURE = b'"{[,'
_REST = bytes(byte for byte in range(256) if byte not in _STRUCTURE)


def sample_limit(sampling: Sampling) -> int:
    """Return the most characters that one sample may have, its reasoning included."""
    if sampling.max_tokens is None:
        return _UNBOUNDED
    return _SAMPLE + _TOKEN * sampling.max_tokens


def reply_limit(sampling: Sampling) -> int:
    """Return the most bytes that a reply may have.

    >>> from novarag.calls import Sampling
    >>> reply_limit(Sampling(n=16, max_tokens=2048))
    2424832
    """
    logprobs = _LOGPROB * _entries(sampling)
    return _FRAME + sampling.n * (sample_limit(sampling) + logprobs)


def check_values(body: bytes, sampling: Sampling) -> None:
    """Refuse a body with more objects, lists and fields than a reply has, before any is built.

    A million empty choices are three bytes each, and twenty times that once they are objects.
    """
    most = _VALUES + sampling.n * _VALUES_OF_SAMPLE
    most = min(most + sampling.n * _entries(sampling) * _VALUES_OF_LOGPROB, _MOST_VALUES)
    if _weight(body) <= most:
        return  # signs in texts are counted, too: nearly always few enough
    signs = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _REST)
    if signs.count(b'"') > 2 * most or _is_heavier(signs, most):
        raise CallError(Outcome.MALFORMED, "the body holds more values than a reply has")


def _is_heavier(signs: bytes, most: int) -> bool:
    """Weigh the signs outside of quotes, a stretch at a time, until they are too many."""
    weight, inside = 0, 0
    for start in range(0, len(signs), _STRETCH):
        pieces = signs[start : start + _STRETCH].split(b'"')
        weight += _weight(b"".join(pieces[inside::2]))
        inside = (inside + len(pieces) - 1) % 2
        if weight > most:
            return True
    return False


def _weight(body: bytes) -> int:
    """Count values by their signs, objects and lists for as much as they take."""
    return body.count(b",") + _OBJECT * (body.count(b"{") + body.count(b"["))


def _entries(sampling: Sampling) -> int:
    """Count the log-probabilities that one sample may come with."""
    if not sampling.logprobs:
        return 0
    return (sampling.max_tokens or _UNBOUNDED_TOKENS) * (1 + sampling.alternatives)
