"""Keys for the clients of a gateway, from Python: draw one, list them, revoke one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, TypeVar

from novarag.errors import StorageError, UsageError
from novarag.flows.sync import run_sync
from novarag.gateway.admin.running import require_extra

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    import asyncpg

    from novarag.gateway.http.keys import ClientKey
    from novarag.gateway.settings import GatewaySettings

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayKey:
    """A key of a client as a gateway knows it: by its SHA-256, never by itself.

    `source` is "file" or "database".
    """

    sha256: str
    tenant: str
    scopes: tuple[str, ...]
    expires: datetime | None
    created: datetime | None
    note: str
    source: str

    @property
    def expired(self) -> bool:
        """Say whether its time is over."""
        return self.expires is not None and self.expires <= datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGatewayKey:
    """A key that was just drawn: `key` is for the client, and is kept nowhere."""

    key: str
    known_by: GatewayKey

    def __repr__(self) -> str:
        return f"NewGatewayKey(known_by={self.known_by!r})"

    def settings_lines(self) -> list[str]:
        """Return the part of a settings file that lets this key in."""
        known = self.known_by
        scopes = ", ".join(f'"{scope}"' for scope in known.scopes)
        expires = [] if known.expires is None else [f"expires = {known.expires:%Y-%m-%dT%H:%M:%SZ}"]
        return [
            f'[keys."{known.tenant}"]',
            f'sha256 = ["{known.sha256}"]',
            f"scopes = [{scopes}]",
            *expires,
        ]


def add_gateway_key(
    tenant: str,
    settings: str | Path | None = None,
    *,
    scopes: Sequence[str] = ("chat", "score", "feedback"),
    expires: date | datetime | str | None = None,
    note: str = "",
    hash_only: bool = False,
) -> NewGatewayKey:
    """Draw a key for a tenant, and keep its hash in the audit's database of a settings file.

    Args:
        tenant: The name of the tenant whose key it is, under which the audit keeps its rows.
        settings: The settings file of the gateway (TOML). Its part [audit] names the database; it
            is left out with `hash_only`, and only then.
        scopes: What the key may be used for, of chat, score, feedback and metrics; the last is left
            out by default.
        expires: The day or the time at which the key ends, in UTC where it names no zone; None lets
            it last.
        note: A text on what the key is for, kept beside its hash.
        hash_only: Keep nothing: put the `settings_lines()` of the result into the settings file.
    """
    require_extra()
    from novarag.gateway.http.keys import ClientKey, draw_key, hash_key

    if (settings is None) is not hash_only:
        raise UsageError.saying("give `settings` with a part [audit], or else `hash_only=True`")
    key = draw_key()
    known = ClientKey(
        sha256=hash_key(key),
        tenant=_check_tenant(tenant),
        scopes=_check_scopes(scopes),
        expires=_read_time(expires),
        created=datetime.now(UTC),
        note=note,
        source="file" if settings is None else "database",
    )
    if settings is not None:
        from novarag.gateway.audit.stored_keys import add_key

        _ask_database(settings, lambda connection: add_key(connection, known))
    return NewGatewayKey(key=key, known_by=_describe_key(known))


def list_gateway_keys(settings: str | Path) -> tuple[GatewayKey, ...]:
    """List the keys of a settings file, and those of its audit's database where it has one.

    Args:
        settings: The settings file of the gateway (TOML).
    """
    require_extra()
    from novarag.gateway.http.keys import list_file_keys

    read = _read_settings(settings)
    found = list_file_keys(read)
    if read.audit is not None:
        from novarag.gateway.audit.stored_keys import read_keys

        found += _ask_database(settings, read_keys)
    return tuple(_describe_key(key) for key in found)


def revoke_gateway_key(sha256: str, settings: str | Path) -> GatewayKey:
    """Delete the key of the database whose SHA-256 begins so.

    Gateways that run learn of it when they next read the keys (`access.reread`), or by SIGHUP. A
    key of the settings file is revoked by taking it out of the file.

    Args:
        sha256: The first 8 or more hex digits of the key's SHA-256, as `list_gateway_keys` has it.
        settings: The settings file of the gateway (TOML). Its part [audit] names the database.
    """
    require_extra()
    from novarag.gateway.audit.stored_keys import revoke_key

    return _describe_key(
        _ask_database(settings, lambda connection: revoke_key(connection, sha256.strip().lower()))
    )


def _ask_database(
    settings: str | Path, work: Callable[[asyncpg.Connection], Awaitable[_Found]]
) -> _Found:
    """Do something with the audit's database of a settings file."""
    import asyncpg

    from novarag.gateway.audit.database import open_connection
    from novarag.gateway.audit.schema import migrate

    audit = _read_settings(settings).audit
    if audit is None:
        raise UsageError(f"{settings} has no part [audit], so there is no database for keys")
    dsn = audit.dsn()

    async def story() -> _Found:
        async with open_connection(dsn) as connection:
            await migrate(connection)
            return await work(connection)

    try:
        return run_sync(story())
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        said = type(error).__name__  # its message may name hosts and users
        raise StorageError(f"the audit's database did not do it ({said})") from None


def _read_settings(path: str | Path) -> GatewaySettings:
    from novarag.gateway.settings import read_settings

    return read_settings(path)


def _check_tenant(name: str) -> str:
    from novarag.gateway.settings import NAME

    if not re.fullmatch(NAME, name) or name.endswith("\n"):
        raise UsageError.saying(
            "a `tenant` is named by letters, digits and . _ : / -, 128 at most, a letter or digit"
            " first"
        )
    return name


def _check_scopes(names: Sequence[str]) -> frozenset[str]:
    from novarag.gateway.settings import KeyScope

    known = [str(scope) for scope in KeyScope]
    if isinstance(names, str) or not names or not set(names) <= set(known):
        raise UsageError.saying("`scopes` are some of {}", ", ".join(known))
    return frozenset(names)


def _read_time(expires: date | datetime | str | None) -> datetime | None:
    if isinstance(expires, str):
        try:
            expires = datetime.fromisoformat(expires)
        except ValueError:
            raise UsageError.saying("`expires` is a day or a time, such as 2027-01-31") from None
    if expires is None:
        return None
    moment = expires if isinstance(expires, datetime) else datetime.combine(expires, time())
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if moment <= datetime.now(UTC):
        raise UsageError.saying("`expires` is over already")
    return moment.astimezone(UTC)


def _describe_key(key: ClientKey) -> GatewayKey:
    from novarag.gateway.settings import KeyScope

    return GatewayKey(
        sha256=key.sha256.hex(),
        tenant=key.tenant,
        scopes=tuple(str(scope) for scope in KeyScope if scope in key.scopes),
        expires=key.expires,
        created=key.created,
        note=key.note,
        source=key.source,
    )
