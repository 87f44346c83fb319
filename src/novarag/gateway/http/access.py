"""Who may ask: a key where one is needed, the tenant that it is of, and the route it is for."""

from __future__ import annotations

import time
from ipaddress import ip_address
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.gateway.http.keys import KeyRing, list_file_keys, read_bearer_key
from novarag.gateway.http.served_request import TENANT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.gateway.audit.stored_keys import StoredKeys
    from novarag.gateway.http.keys import ClientKey
    from novarag.gateway.settings import GatewaySettings, KeyScope

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
