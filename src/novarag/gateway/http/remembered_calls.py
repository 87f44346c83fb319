"""What a proxy said was asked, kept by call until its reply comes, within bounds."""

from __future__ import annotations

import time
from collections import OrderedDict
from sys import getsizeof
from typing import TYPE_CHECKING, NamedTuple

from novarag.gateway.http.requests import BadRequest

if TYPE_CHECKING:
    from novarag.gateway.http.requests import GivenPassage

    CallTexts = tuple[str, list[GivenPassage | str]]

_CALL = 1_000  # bytes that a call takes beside its texts: its id, its place, its time
_PASSAGE = 1_000  # bytes that a passage takes beside its text where more is known of it
_FIELDS = ("text", "source", "date", "id")
_TWICE = "two calls have this id"


class RememberedCall(NamedTuple):
    """What a call asked, or why that is not known; until when, and how many bytes it takes."""

    asked: CallTexts | str
    until: float
    size: int


class TenantCalls:
    """The calls of one tenant, the oldest first."""

    def __init__(self) -> None:
        self.calls: OrderedDict[str, RememberedCall] = OrderedDict()
        self.size = 0

    def put(self, identity: str, call: RememberedCall) -> None:
        """Put a call last."""
        self.calls[identity] = call
        self.size += call.size

    def take(self, identity: str) -> RememberedCall | None:
        """Take a call out, if it is there."""
        call = self.calls.pop(identity, None)
        if call is not None:
            self.size -= call.size
        return call

    def drop_first(self) -> None:
        """Forget the oldest call."""
        self.size -= self.calls.popitem(last=False)[1].size

    @property
    def first_ends(self) -> float:
        """When the oldest call is forgotten."""
        return next(iter(self.calls.values())).until


class CallMemory:
    """What was asked, by tenant and call.

    A call is kept for so many `seconds`, and of a tenant no more than `most`. All together they
    take no more than `room` bytes, texts and all else: beyond it the tenant that has most loses its
    oldest call, so that none pushes out the calls of another.
    """

    def __init__(self, *, seconds: float = 600, most: int = 10_000, room: int = 64_000_000) -> None:
        self._seconds, self._most, self._room = seconds, most, room
        self._tenants: dict[str, TenantCalls] = {}
        self._size = 0

    def keep(self, tenant: str, identity: str, asked: CallTexts | str) -> None:
        """Keep what a call asked; of two that differ under one id neither is believed."""
        kept, now = self._tenants.setdefault(tenant, TenantCalls()), time.monotonic()
        before = kept.size
        known = kept.take(identity)
        if known is not None and known.asked != asked:
            asked = _TWICE
        kept.put(identity, RememberedCall(asked, now + self._seconds, measure_call(asked)))
        while len(kept.calls) > self._most or kept.first_ends <= now:
            kept.drop_first()
        self._size += kept.size - before
        while self._size > self._room:
            largest = max(self._tenants.values(), key=lambda one: one.size)
            before = largest.size
            largest.drop_first()
            self._size += largest.size - before

    def find(self, tenant: str, identity: str | None) -> CallTexts:
        """Return what a call asked, or say why that is not known."""
        kept = self._tenants.get(tenant)
        call = None if kept is None or identity is None else kept.calls.get(identity)
        if call is None:
            raise BadRequest("this call is not known here")
        if isinstance(call.asked, str):
            raise BadRequest(call.asked)
        if call.until <= time.monotonic():
            raise BadRequest("this call was asked too long ago")
        return call.asked


def measure_call(asked: CallTexts | str) -> int:
    """Say how many bytes a call takes in memory, rather more than less."""
    if isinstance(asked, str):
        return _CALL + getsizeof(asked)
    question, passages = asked
    texts = getsizeof(question) + getsizeof(passages)
    return _CALL + texts + sum(map(_measure_passage, passages))


def _measure_passage(passage: GivenPassage | str) -> int:
    if isinstance(passage, str):
        return getsizeof(passage)
    return _PASSAGE + sum(getsizeof(getattr(passage, name)) for name in _FIELDS)
