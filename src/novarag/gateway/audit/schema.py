"""Migrations: numbered plain SQL, each applied once, by one process at a time."""

from __future__ import annotations

import re
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from novarag.errors import StorageError
from novarag.gateway.audit.codes import CODES, spell_column

if TYPE_CHECKING:
    import asyncpg

LOCK = 0x6E6F7661  # the advisory lock that migrations and partitions are made under
_SPELLED_FROM = 1000  # the first number of a migration that is written from the words themselves

# The view in the text of a migration, and in it the arrays that spell numbers out in words.
_VIEW = re.compile(r"create (?:or replace )?view (audited as\b.*?;)", re.DOTALL)
_SPELLED = re.compile(r"\(array\[[^\]]*\]\)\[((?:d\.)?(\w+))\]")
_NAMES = {"j": "judgment"}  # columns of the view that are not called as their enumeration
_TABLE = """
create table if not exists migrations (
    number integer primary key,
    digest text not null,
    applied timestamptz not null default now()
)
"""


def read_migrations() -> dict[int, str]:
    """Return the packaged migrations by number."""
    folder = files("novarag.gateway.audit") / "migrations"
    found = {
        int(entry.name.removesuffix(".sql")): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }
    numbered = dict(sorted(found.items()))
    return numbered | _spell_again("".join(numbered.values()), max(numbered))


def _spell_again(numbered: str, last: int) -> dict[int, str]:
    """Return the migration that spells words which came after the numbered ones, if any did.

    Words are only ever added, so what spells more of them has a higher number; a gateway that knows
    fewer leaves the view of a newer one as it is.
    """
    view = _VIEW.findall(numbered)[-1]
    spelled = _SPELLED.sub(
        lambda found: spell_column(_NAMES.get(found[2], found[2]), found[1]), view
    )
    if _list_words(spelled) == _list_words(view):
        return {}
    number = _SPELLED_FROM * last + sum(map(len, CODES.values()))
    return {number: f"create or replace view {spelled}"}


def _list_words(view: str) -> list[str]:
    return re.findall(r"'((?:[^']|'')*)'", view)


async def migrate(connection: asyncpg.Connection, known: dict[int, str] | None = None) -> int:
    """Apply the migrations that a database lacks; return how many there were.

    A database that is ahead is left as it is: migrations only add, so that two versions of the
    gateway can run side by side. One whose past differs from ours is refused.
    """
    known = read_migrations() if known is None else known
    if not await _find_missing(connection, known):
        return 0
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
        await connection.execute(_TABLE)
        missing = await _find_missing(connection, known)
        for number in missing:
            await connection.execute(known[number])
            await connection.execute(
                "insert into migrations (number, digest) values ($1, $2)",
                number,
                _hash_migration(known[number]),
            )
    return len(missing)


async def _find_missing(connection: asyncpg.Connection, known: dict[int, str]) -> list[int]:
    if await connection.fetchval("select to_regclass('migrations')") is None:
        return list(known)
    rows = await connection.fetch("select number, digest from migrations")
    applied = {row["number"]: row["digest"] for row in rows}
    for number, digest in applied.items():
        if number in known and digest != _hash_migration(known[number]):
            raise StorageError(f"migration {number} of the audit's database is not the one we have")
    return list_missing(known, applied)


def list_missing(known: dict[int, str], applied: dict[int, str]) -> list[int]:
    """List the migrations that a database lacks; what a newer gateway spelled is left.

    Args:
        known: The migrations that we have, by number.
        applied: Those that the database has.
    """
    last = max(applied, default=0)
    return [n for n in known if n not in applied and not _SPELLED_FROM < n < last]


def _hash_migration(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
