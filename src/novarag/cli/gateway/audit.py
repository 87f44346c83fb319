"""The verbs of the audit: export a day, drop old days, forget a tenant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.errors import UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.gateway.audit.retention import AuditExport

SettingsFile = Annotated[Path, typer.Argument(help="Settings file of the gateway (.toml).")]
ExportFolder = Annotated[Path, typer.Option(help="Folder for the Parquet files.")]
Confirmation = Annotated[
    bool, typer.Option("--yes", help="Do it: what is deleted does not come back.")
]


def export(
    settings: SettingsFile,
    day: Annotated[str, typer.Argument(help="The day in UTC: 2026-01-31.")],
    out: ExportFolder,
) -> None:
    """Write the decisions and the feedback of one day to Parquet files; nothing is deleted."""
    from novarag.gateway.admin.retention import export_audit

    _print(export_audit(settings, day, out=out))


def drop(
    settings: SettingsFile,
    before: Annotated[str, typer.Option(help="The first day that stays, in UTC: 2026-01-31.")],
    out: ExportFolder,
    yes: Confirmation = False,
) -> None:
    """Export all days before a day, then delete them from the database."""
    from novarag.gateway.admin.retention import drop_audit

    _confirmed(yes, f"all days before {before} would be exported to {out} and deleted")
    _print(drop_audit(settings, before=before, out=out))


def forget(
    settings: SettingsFile,
    tenant: Annotated[str, typer.Argument(help="The tenant whose rows are deleted.")],
    exports: Annotated[
        Path | None,
        typer.Option(help="Also write the Parquet files in this folder again, without its rows."),
    ] = None,
    yes: Confirmation = False,
) -> None:
    """Delete all rows of a tenant up to now, also those that still wait in spools."""
    from novarag.gateway.admin.retention import forget_tenant

    _confirmed(yes, f"all rows of the tenant {tenant!r} would be deleted")
    deleted = forget_tenant(settings, tenant, exports=exports)
    print(f"{deleted:,} rows of {plain_text(tenant, longest=100)} were deleted")


def _confirmed(yes: bool, what: str) -> None:
    if not yes:
        raise UsageError(f"{plain_text(what, longest=300)}; nothing was done. Say --yes to do it")


def _print(files: list[AuditExport]) -> None:
    for one in files:
        print(f"{one.path}: {one.rows:,} rows")
    if not files:
        print("there is no such day in the database")
