"""Asking the audit's database for an operator: what goes wrong is said in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import asyncpg

from novarag.errors import StorageError
from novarag.flows.sync import run_sync

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

_R = TypeVar("_R")


def ask_database(work: Coroutine[Any, Any, _R]) -> _R:
    """Run what asks the database; no message of its own is repeated, as it may hold values."""
    try:
        return run_sync(work)
    except asyncpg.UndefinedTableError:
        raise StorageError(
            "the database holds no audit yet: a gateway with [audit] makes its tables at its start"
        ) from None
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        code = getattr(error, "sqlstate", None)
        what = type(error).__name__ + (f", {code}" if code else "")
        raise StorageError(f"the audit's database refused ({what})") from None
    except (OSError, TimeoutError) as error:
        raise StorageError(
            f"the audit's database cannot be reached ({type(error).__name__})"
        ) from None
