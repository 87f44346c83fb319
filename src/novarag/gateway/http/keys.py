"""Keys of clients: known by a hash, each of a tenant, for some routes, until some time.

A key is never kept, logged or passed on. It is found by a digest that is keyed anew in every
process, so that how long a look takes says nothing about the keys there are.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from hashlib import blake2b, sha256
from hmac import compare_digest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from novarag.gateway.settings import GatewaySettings

PREFIX = "nvr_"
_LONGEST = 512  # bytes of a key
_SECRET = secrets.token_bytes(32)
_SCHEME = b"bearer"
# A key has visible ASCII alone; anything else in a header is no key of ours.
_PLAIN = re.compile(rb"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKey:
    """What is known of a key: its SHA-256, whose it is, what for, and until when."""

    sha256: bytes
    tenant: str
    scopes: frozenset[str]
    expires: datetime | None = None
    created: datetime | None = None
    note: str = ""
    source: str = "file"

    def expired(self, now: float) -> bool:
        """Say whether its time is over."""
        return self.expires is not None and now >= self.expires.timestamp()


def draw_key() -> str:
    """Draw a key of 256 random bits; the prefix lets scanners of secrets find it."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_key(key: str | bytes) -> bytes:
    """Return what is kept of a key. It is random, so one round of SHA-256 is enough."""
    return sha256(key.encode() if isinstance(key, str) else key).digest()


def list_file_keys(settings: GatewaySettings) -> list[ClientKey]:
    """Return the keys of a settings file."""
    return [
        ClientKey(
            sha256=bytes.fromhex(digest),
            tenant=entry.tenant or name,
            scopes=frozenset(map(str, entry.scopes)),
            expires=entry.expires,
            note=entry.note,
        )
        for name, entry in settings.keys.items()
        for digest in entry.sha256
    ]


class KeyRing:
    """Keys by their digest, never changed; of two with one hash the first counts."""

    def __init__(self, keys: Iterable[ClientKey]) -> None:
        self._keys: dict[bytes, ClientKey] = {}
        for key in keys:
            self._keys.setdefault(_key_digest(key.sha256), key)

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, token: bytes) -> ClientKey | None:
        """Return what is known of a key."""
        if not self._keys:
            return None
        hashed = hash_key(token)
        found = self._keys.get(_key_digest(hashed))
        return found if found is not None and compare_digest(found.sha256, hashed) else None


def _key_digest(hashed: bytes) -> bytes:
    return blake2b(hashed, key=_SECRET, digest_size=16).digest()


def read_bearer_key(headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """Return the key that a request brings; None where it brings none, or what can be none.

    Two headers are none: which of them counts would depend on who reads them.
    """
    found = [value for name, value in headers if name == b"authorization"]
    if len(found) != 1 or len(found[0]) > _LONGEST:
        return None
    scheme, _, token = found[0].strip(b" \t").partition(b" ")
    token = token.strip(b" ")
    return token if scheme.lower() == _SCHEME and _PLAIN.fullmatch(token) else None
