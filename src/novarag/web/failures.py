"""What can go wrong on the way to a server, and what each failure means for the next attempt."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import orjson

from novarag.calls import Outcome
from novarag.texts import plain_text

if TYPE_CHECKING:
    import aiohttp

    from novarag.web.dispatcher import EndpointQueue

_DENIED = frozenset({401, 402, 403, 404})
_RETRIED = frozenset({408, 409})
_LONGEST_REASON = 65_536  # bytes of a refusal that is looked into; of a longer one the beginning


class AttemptFailure(Exception):  # noqa: N818 - never leaves this room
    """One attempt that failed, and when the server wants to hear from us again."""

    def __init__(self, outcome: Outcome, detail: str, after: float | None = None) -> None:
        self.outcome, self.detail, self.after = outcome, detail, after
        super().__init__(outcome)


def heed(queue: EndpointQueue, failure: AttemptFailure) -> None:
    """Tell the pace of an endpoint what a failure says of it."""
    match failure.outcome:
        case Outcome.RATE_LIMITED:
            queue.pace.rejected(monotonic(), failure.after)
        case (
            Outcome.SERVER_ERROR
            | Outcome.TIMED_OUT
            | Outcome.CUT_OFF
            | Outcome.UNREACHABLE
            | Outcome.MALFORMED
        ):
            queue.pace.failed(monotonic())
        case _:
            queue.pace.gave_up()


def refusal(status: int, content: bytes, after: float | None) -> AttemptFailure:
    """Say what a status other than 200 means."""
    detail = f"HTTP {status}: {error_message(content)}"
    if status == 429:
        return AttemptFailure(Outcome.RATE_LIMITED, detail, after)
    if status >= 500 or status in _RETRIED:
        return AttemptFailure(Outcome.SERVER_ERROR, detail, after)
    return AttemptFailure(Outcome.DENIED if status in _DENIED else Outcome.REFUSED, detail)


def redirected(response: aiohttp.ClientResponse) -> AttemptFailure:
    """Say where a server wants to send us; we do not go, as our key would come along."""
    try:
        target = urlsplit(response.headers.get("Location", "")).hostname
    except ValueError:
        target = "an address that is none"
    place = plain_text(target or "another path of the same host", longest=100)
    return AttemptFailure(
        Outcome.REDIRECTED, f"the server redirects to {place}; give that address if it is meant"
    )


def seconds(header: str | None) -> float | None:
    """Read Retry-After, in seconds or as a date; nonsense is left to the backoff."""
    if not header:
        return None
    try:
        value = float(header)
    except ValueError:
        try:
            value = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(value, 300.0) if value >= 0 else None


def error_message(body: bytes) -> str:
    """Find what a server says of its refusal; one line, at most 300 characters."""
    try:
        content = orjson.loads(body) if len(body) <= _LONGEST_REASON else None
        if isinstance(content, dict):
            inner = content.get("error", content)
            content = inner.get("message", inner) if isinstance(inner, dict) else inner
        said = str(content) if content is not None else _as_text(body)
    except (orjson.JSONDecodeError, RecursionError):
        said = _as_text(body)
    line = " ".join("".join(c if c.isprintable() else " " for c in said[:2000]).split())
    return line[:300]


def _as_text(body: bytes) -> str:
    return body[:8000].decode("utf-8", "replace")
