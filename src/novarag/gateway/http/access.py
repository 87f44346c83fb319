"""Who may ask, and how much: keys with their tenants and routes, and limits per tenant.

What a reply takes is known when it is there. So tokens are charged afterwards and may run into
debt, and the next request waits until that is paid.
"""

from __future__ import annotations

import time
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.gateway.http.keys import KeyRing, list_file_keys, read_bearer_key
from novarag.gateway.http.served_request import TENANT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from novarag.gateway.audit.stored_keys import StoredKeys
    from novarag.gateway.http.keys import ClientKey
    from novarag.gateway.settings import GatewaySettings, KeyScope, RateLimits

_UNKNOWN_YET = 2.0  # seconds


class NotAdmitted(Exception):  # noqa: N818 - a state, not an accident
    """A request that is turned away before it is read; `why` is what it is counted under."""

    def __init__(self, message: str, status: int, why: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.why, self.after = status, why, after

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return what the reply says beside its words."""
        return [(b"www-authenticate", b"Bearer")] if self.status == 401 else []


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach an address."""
    if host in {"localhost", "unix"}:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def needs_keys(settings: GatewaySettings, host: str | None = None) -> bool:
    """Say whether clients need a key; refuse a gateway that is open to others by mistake."""
    host = settings.listen.host if host is None else host
    required = settings.access.required
    if required is None:
        required = bool(settings.keys) or not is_loopback(host)
    if required and not settings.keys and settings.audit is None:
        raise UsageError(
            f"a gateway at {host} needs keys of its clients, and there are none: anybody who can"
            " reach it could ask at your expense. Give [keys], or [audit] with keys in its"
            " database, or say `required = false` under [access]"
        )
    return required


class Authenticator:
    """The keys in force: those of a settings file, and those that the database holds."""

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        host: str | None = None,
        stored: StoredKeys | None = None,
    ) -> None:
        self.required = needs_keys(settings, host)
        self.listed = KeyRing(list_file_keys(settings))
        self._stored = stored

    @property
    def known(self) -> bool:
        """Say whether anybody could be let in: not before the database's keys were read once."""
        return not self.required or len(self.listed) > 0 or self._read

    @property
    def _read(self) -> bool:
        return self._stored is None or self._stored.read_at is not None

    def find_tenant(self, headers: Sequence[tuple[bytes, bytes]], scope: KeyScope | None) -> str:
        """Return whose request this is, or raise `NotAdmitted`; no scope is open to every key."""
        token = read_bearer_key(headers)
        key = None if token is None else self._find(token)
        if key is None:
            if not self.required:
                return TENANT
            raise self._refusal(token)
        if scope is not None and scope not in key.scopes:
            raise NotAdmitted(f"this key is not for {scope}", 403, "scope")
        return key.tenant

    def allows(self, headers: Sequence[tuple[bytes, bytes]], scope: KeyScope) -> bool:
        """Say whether a request brings a key for something, also where none is needed to ask."""
        token = read_bearer_key(headers)
        key = None if token is None else self._find(token)
        return key is not None and scope in key.scopes

    def _find(self, token: bytes) -> ClientKey | None:
        key = self.listed.find(token)
        if key is None and self._stored is not None:
            key = self._stored.ring.find(token)
        return None if key is None or key.expired(time.time()) else key

    def _refusal(self, token: bytes | None) -> NotAdmitted:
        if token is None:
            said = "a key is needed, as one header `Authorization: Bearer KEY`"
            return NotAdmitted(said, 401, "key")
        if not self._read:
            said = "keys could not be read yet"
            return NotAdmitted(said, 503, "keys unread", after=_UNKNOWN_YET)
        return NotAdmitted("this key is not known, or its time is over", 401, "key")


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
