"""What is kept of a gateway's decisions, and for how long: exported, dropped, forgotten."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.gateway.admin.running import require_extra

if TYPE_CHECKING:
    from novarag.gateway.audit.retention import AuditExport


def export_audit(settings: str | Path, day: date | str, *, out: str | Path) -> list[AuditExport]:
    """Write the decisions and the feedback of one day to Parquet files in a folder.

    Nothing is deleted, and files that are there are left: a day that is exported twice has two.

    Args:
        settings: The settings file of the gateway (TOML). Its part [audit] names the database.
        day: The day in UTC, such as 2026-01-31.
        out: A folder for the Parquet files.
    """
    dsn = _find_database(settings)
    from novarag.gateway.audit.asking import ask_database
    from novarag.gateway.audit.retention import export_day

    return ask_database(export_day(dsn, _read_day(day, "day"), Path(out)))


def drop_audit(settings: str | Path, *, before: date | str, out: str | Path) -> list[AuditExport]:
    """Export all days before a day to a folder, then delete them from the database.

    Gateways go on meanwhile. Feedback on answers of these days is lost for calibrations.

    Args:
        settings: The settings file of the gateway (TOML). Its part [audit] names the database.
        before: The first day that stays, in UTC, such as 2026-01-31; it may be today at the latest.
        out: A folder for the Parquet files.
    """
    dsn = _find_database(settings)
    from novarag.gateway.audit.asking import ask_database
    from novarag.gateway.audit.retention import drop_days_before

    last = _read_day(before, "before")
    if last > datetime.now(UTC).date():
        raise UsageError.saying(
            "{} (`before`) is not over yet; days up to yesterday can be dropped", last
        )
    return ask_database(drop_days_before(dsn, last, Path(out)))


def forget_tenant(settings: str | Path, tenant: str, *, exports: str | Path | None = None) -> int:
    """Delete all rows of a tenant up to now; return how many there were.

    What backups of the database hold is not touched.

    Args:
        settings: The settings file of the gateway (TOML). Its part [audit] names the database.
        tenant: The name of the tenant whose rows are deleted.
        exports: A folder of exported Parquet files, which are written again without the tenant's
            rows; None leaves exported files as they are.
    """
    dsn = _find_database(settings)
    from novarag.gateway.audit import retention
    from novarag.gateway.audit.asking import ask_database

    folder = None if exports is None else Path(exports)
    return ask_database(retention.forget_tenant(dsn, tenant, folder))


def _find_database(settings: str | Path) -> str:
    require_extra()
    from novarag.gateway.admin.propose import find_database
    from novarag.gateway.settings import read_settings

    return find_database(read_settings(settings))


def _read_day(given: date | str, name: str) -> date:
    try:
        return date.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise UsageError.saying(
            "`{}` must be a day such as 2026-01-31, not {!r}", name, given
        ) from None
