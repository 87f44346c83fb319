"""Limits per tenant: requests and tokens a minute, counted in one process.

What a reply takes is known when it is there. So tokens are charged afterwards and may run into
debt, and the next request waits until that is paid.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.gateway.settings import RateLimits

_MINUTE = 60.0  # seconds
_DEBT = 10.0  # minutes that one reply can cost at most, whatever its server says it took


class RateBucket:
    """What is left of a limit; it fills evenly, up to what may be used in a minute."""

    __slots__ = ("_at", "_left")

    def __init__(self, left: float, now: float) -> None:
        self._left, self._at = left, now

    def wait(self, need: float, rate: float, now: float) -> float:
        """Say how many seconds it takes until there is as much; 0 where there is."""
        self._fill(rate, now)
        return max(0.0, (need - self._left) * _MINUTE / rate)

    def take(self, amount: float, rate: float, now: float) -> None:
        """Take some, whether it is there or not; debts end within ten minutes."""
        self._fill(rate, now)
        self._left = max(self._left - amount, -_DEBT * rate)

    def _fill(self, rate: float, now: float) -> None:
        gained = max(0.0, now - self._at) * rate / _MINUTE
        self._left, self._at = min(float(rate), self._left + gained), now


class TenantLimits:
    """The buckets of all tenants that have asked. Tenants come from keys, so they are few."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str], RateBucket] = {}

    def admit(self, rates: RateLimits, tenant: str) -> float | None:
        """Take one request of a tenant; say how long to wait where it is over a limit."""
        rate, now = rates.of(tenant), self._clock()
        wait = 0.0
        if rate.tokens is not None:
            wait = self._bucket(tenant, "tokens", rate.tokens, now).wait(1, rate.tokens, now)
        if rate.requests is None:
            return wait or None
        bucket = self._bucket(tenant, "requests", rate.requests, now)
        wait = max(wait, bucket.wait(1, rate.requests, now))
        if not wait:
            bucket.take(1, rate.requests, now)
        return wait or None

    def charge(self, rates: RateLimits, tenant: str, tokens: int) -> None:
        """Charge a tenant what its reply took."""
        rate, now = rates.of(tenant), self._clock()
        if rate.tokens is not None:
            bucket = self._bucket(tenant, "tokens", rate.tokens, now)
            bucket.take(max(0, tokens), rate.tokens, now)

    def _bucket(self, tenant: str, kind: str, full: float, now: float) -> RateBucket:
        made = self._buckets.get((tenant, kind))
        if made is None:
            made = self._buckets[tenant, kind] = RateBucket(full, now)
        return made
