"""The verb that says where public data comes from, and makes tables of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from novarag.flows.public_data import PublicData
    from novarag.presets.public_data import PublicFile, PublicSource


def data(
    name: Annotated[
        str | None, typer.Argument(help="A source; without one, all are listed.")
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Its files, or folders with them; each is known by its checksum."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the tables, what --data names; default: NOVARAG_DATA."),
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch the files that were not given.")
    ] = False,
    mirror: Annotated[
        str | None, typer.Option(help="URL of a server with the same paths, to fetch from.")
    ] = None,
) -> None:
    """List public data; check its files, or fetch them, and make the tables that verbs read."""
    from novarag.flows.public_data import public_data

    with screen() as on_event:
        found = public_data(
            name, files or (), out=out, fetch=fetch, mirror=mirror, on_event=on_event
        )
    if name is None:
        _print_all(found.sources)
    elif not files and not fetch:
        _print_one(found.sources[0])
    else:
        _print_made(found, out)
        sys.exit(ExitCode.INCOMPLETE if found.missing else ExitCode.DONE)


def _print_all(sources: Iterable[PublicSource]) -> None:
    for source in sources:
        print(f"{source.name}: {source.title}")
        print(f"  for: {source.use}")
        print(f"  {len(source.files)} files, {source.size / 1e6:.1f} MB; licence: {source.licence}")
        print(f"  page: {source.page}")
    print("next: novarag paper data NAME says which file goes where")


def _print_one(source: PublicSource) -> None:
    print(f"{source.name}: {source.title}")
    print(f"for: {source.use}")
    print(f"licence: {source.licence}")
    print(f"page: {source.page}")
    if source.note:
        print(f"note: {source.note}")
    print(f"\n{len(source.files)} files, {source.size / 1e6:.1f} MB; each with its SHA-256:")
    _print_files(source.files)
    if not source.address_tried:
        print("The addresses are unverified: nobody fetched from them yet. The checksums are")
        print("those of copies of the same commits, and nothing else is taken.")
    print(f"\n{len(source.tables)} tables, in the folder that NOVARAG_DATA or --data names:")
    for table in source.tables:
        print(f"  {table.to}: {table.rows:,} rows, converter {table.converter}")
        shown = table.parts if len(table.parts) <= 4 else ["all files"]
        print(f"    from {', '.join(shown)}")
    print(
        f"\nnext: novarag paper data {source.name} --fetch --out data, or fetch them yourself and"
    )
    print(f"      novarag paper data {source.name} FOLDER --out data")


def _print_files(files: Iterable[PublicFile]) -> None:
    for file in files:
        print(f"  {file.path}: {file.size:,} bytes\n    {file.address}\n    {file.sha256}")


def _print_made(found: PublicData, out: Path | None) -> None:
    source = found.sources[0]
    for path in found.wrong:
        print(f"{path} has the name of a file of {source.name}, and another content")
    for path in found.unknown:
        print(f"{path} is no file of {source.name}")
    fresh = sum(table.fresh for table in found.tables)
    made, there = f"{fresh} made", f"{len(found.tables) - fresh} there already"
    print(f"{len(found.tables)} of {len(source.tables)} tables: {made}, {there}")
    for table in found.tables:
        print(f"  {table.path}: {table.rows:,} rows{'' if table.fresh else ', there already'}")
    if found.missing:
        print(
            f"{len(found.missing)} of {len(source.files)} files are missing; add them, or --fetch:"
        )
        _print_files(found.missing)
        return
    print(f"licence: {source.licence}")
    if out is not None:
        print(f"next: export NOVARAG_DATA={shlex.quote(str(out))}")
