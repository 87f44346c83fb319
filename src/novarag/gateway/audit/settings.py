"""The part of a gateway's settings file that says what is kept of its decisions, and where."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from novarag.errors import UsageError

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]


class AuditSettings(BaseModel):
    """What is kept of decisions, where, and for how long.

    `database_env` names the variable that holds the address of a PostgreSQL database. `spool` is a
    folder on this machine, relative to the settings file. `spool_limit` is how many bytes a process
    may have waiting there for the database; beyond it, `when_full` says whether answers go on
    without a row (counted as lost) or requests are refused. Texts are not kept unless `keep_texts`;
    digests of texts are keyed with the variable `digest_key_env` where it is named, so that nobody
    else can try out which text a digest is of. `days` is how far back feedback is taken, and what
    `drop` leaves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    database_env: Variable = "NOVARAG_DATABASE"
    spool: Path = Path("spool")
    spool_limit: Annotated[int, Field(ge=100_000, le=10**13)] = 1_000_000_000
    when_full: Literal["answer", "refuse"] = "answer"
    keep_texts: bool = False
    digest_key_env: Variable | None = None
    days: Annotated[int, Field(ge=1, le=3650)] = 30

    def dsn(self) -> str:
        """Return the address of the database, which may hold a password: never log it."""
        address = _read_variable(self.database_env)
        if not address.startswith(("postgresql://", "postgres://")):
            raise UsageError(
                f"{self.database_env} must hold an address like postgresql://HOST/NAME"
            )
        return address

    def digest_key(self) -> bytes:
        """Return the key of digests; empty where none is named."""
        return b"" if self.digest_key_env is None else _read_variable(self.digest_key_env).encode()


def _read_variable(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise UsageError(f"the environment variable {name}, which [audit] names, is not set")
    return value
