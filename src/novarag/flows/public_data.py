"""Public data: what there is, where its files come from, and the tables that are made of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from novarag.checksums import digest, file_checksum
from novarag.errors import DataError, ServiceError, UsageError
from novarag.flows.events import Note, PartsProgress, silent
from novarag.flows.sync import synchronous
from novarag.presets.public_data import PublicFile, PublicSource, public_source, public_sources
from novarag.prose import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from novarag.flows.events import EventListener
    from novarag.presets.public_data import PublicTable

DOWNLOADS = "downloads"
"""Folder beside the tables in which fetched files are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTable:
    """A table in its place; `fresh` says whether it was made just now."""

    path: Path
    rows: int
    fresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicData:
    """Public sources, and what was made of the files of one of them.

    `missing` are its files that were neither given nor fetched, with their addresses; `wrong` are
    files that have the name of one of them and another content, `unknown` those that are none.
    """

    sources: tuple[PublicSource, ...]
    tables: tuple[PreparedTable, ...] = ()
    missing: tuple[PublicFile, ...] = ()
    wrong: tuple[Path, ...] = ()
    unknown: tuple[Path, ...] = ()


async def public_data_async(
    name: str | None = None,
    files: str | Path | Iterable[str | Path] = (),
    *,
    out: str | Path | None = None,
    fetch: bool = False,
    mirror: str | None = None,
    on_event: EventListener = silent,
) -> PublicData:
    """Say which public data there is; make the tables of a source from its files, or fetch them.

    Args:
        name: Name of a source; left out, all are listed and nothing is made.
        files: Files of the source, or folders with them, under any names: each is known by its
            SHA-256.
        out: The folder for the tables, the one that `data` and NOVARAG_DATA name; default:
            NOVARAG_DATA.
        fetch: Fetch the files that were not given. Each is held to the size and checksum of the
            register before it is read, and kept, so that a call that broke off goes on.
        mirror: Address of a server with the same paths, such as one inside a company.
        on_event: Hears what is fetched and made.

    A table that is there already is left alone. Nothing is fetched unless `fetch` says so.
    """
    given = [files] if isinstance(files, (str, Path)) else list(files)
    if name is None:
        if given or fetch:
            raise UsageError.saying("say of which source: `public_data(...)` lists them")
        return PublicData(sources=tuple(public_sources().values()))
    source = public_source(name)
    if not given and not fetch:
        return PublicData(sources=(source,), missing=source.files)
    place = _folder(out)
    found = _SourceFiles.among(source, given)
    if fetch:
        await _fetch(source, found.paths, place / DOWNLOADS / name, mirror, on_event)
    tables = tuple(_make(source, found.paths, place, on_event))
    return PublicData(
        sources=(source,),
        tables=tables,
        missing=tuple(f for f in source.files if f.path not in found.paths),
        wrong=found.wrong,
        unknown=found.unknown,
    )


public_data = synchronous(public_data_async)


def _folder(out: str | Path | None) -> Path:
    place = out or os.environ.get("NOVARAG_DATA")
    if not place:
        raise UsageError.saying("say where the tables go: pass `out`, or set NOVARAG_DATA")
    return Path(place)


@dataclass(frozen=True, slots=True)
class _SourceFiles:
    """Files of a source that were given, by their paths in it, and what else was."""

    paths: dict[str, Path]
    wrong: tuple[Path, ...]
    unknown: tuple[Path, ...]

    @classmethod
    def among(cls, source: PublicSource, given: Iterable[str | Path]) -> _SourceFiles:
        """Find the files of a source among files and folders, whatever they are called."""
        by_sum = {file.sha256: file.path for file in source.files}
        sizes = {file.size for file in source.files}
        paths: dict[str, Path] = {}
        wrong: list[Path] = []
        unknown: list[Path] = []
        for path, named in _files(given):
            known = path.stat().st_size in sizes and by_sum.get(file_checksum(path).sha256)
            if known:
                paths[known] = path
            elif any(path.as_posix().endswith(f"/{file.path}") for file in source.files):
                wrong.append(path)
            elif named:
                unknown.append(path)
        return cls(paths, tuple(wrong), tuple(unknown))


def _files(given: Iterable[str | Path]) -> Iterator[tuple[Path, bool]]:
    """Yield every file, and whether it was named itself, not by its folder."""
    for place in map(Path, given):
        if place.is_dir():
            yield from ((path, False) for path in sorted(place.rglob("*")) if path.is_file())
        elif place.is_file():
            yield place.absolute(), True
        else:
            raise DataError("there is no such file.", hint="check the path.", source=str(place))


async def _fetch(
    source: PublicSource,
    found: dict[str, Path],
    place: Path,
    mirror: str | None,
    on_event: EventListener,
) -> None:
    """Fetch the files that were not given; those that were fetched before are taken as they are."""
    from novarag.web.download import FileDownload, download

    for number, file in enumerate(source.files):
        if file.path in found:
            continue
        path = place / file.path
        if not (path.is_file() and file_checksum(path).sha256 == file.sha256):
            wanted = FileDownload(
                address=_address(file, mirror), size=file.size, sha256=file.sha256
            )
            on_event(Note(f"fetching {wanted.address}"))
            try:
                await download(wanted, path)
            except ServiceError as error:
                raise ServiceError(
                    say(
                        "{}; fetch it by other means and give it in `files`, or call again",
                        error.prose,
                    ),
                    retryable=error.retryable,
                ) from None
        found[file.path] = path
        on_event(PartsProgress("files", number + 1, len(source.files)))


def _address(file: PublicFile, mirror: str | None) -> str:
    if mirror is None:
        return file.address
    if not mirror.startswith(("http://", "https://")):
        raise UsageError.saying("`mirror` must begin with http:// or https://, unlike {!r}", mirror)
    return mirror.rstrip("/") + urlsplit(file.address).path


def _make(
    source: PublicSource, found: Mapping[str, Path], place: Path, on_event: EventListener
) -> Iterator[PreparedTable]:
    """Make every table whose files are all there."""
    sums = {file.path: file.sha256 for file in source.files}
    for number, table in enumerate(source.tables):
        if not found.keys() >= set(table.parts):
            continue
        path = place / table.to
        if path.exists():
            _check_there(path, table)
            yield PreparedTable(path=path, rows=table.rows, fresh=False)
            continue
        _convert(table, {part: _content(found[part], sums[part]) for part in table.parts}, path)
        on_event(PartsProgress("tables", number + 1, len(source.tables)))
        yield PreparedTable(path=path, rows=table.rows, fresh=True)


def _content(path: Path, known: str) -> bytes:
    """Read a file for use; what is read is what is checked."""
    content = path.read_bytes()
    if digest(content) != known:
        raise DataError("the file changed while it was read.", hint="try again.", source=str(path))
    return content


def _convert(table: PublicTable, parts: Mapping[str, bytes], path: Path) -> None:
    from novarag.answers.opening.files import write_table
    from novarag.datasets.converters import CONVERTERS, table_digest

    schema, convert = CONVERTERS[table.converter]
    made = convert(parts, name=path.stem, **table.settings)
    if table_digest(made, schema) != table.digest:
        raise DataError(
            f"the table made of {len(parts)} files has other rows than it must.",
            hint="the files are right, so this is a fault of novarag: please report it.",
            source=str(path),
        )
    write_table(made, path)


def _check_there(path: Path, table: PublicTable) -> None:
    """Leave a table that is there alone if it is the one, and refuse to replace another."""
    from novarag.datasets.converters import is_table

    if not is_table(path, table.converter, table.digest):
        raise DataError(
            "a file is there already, and is not this table.",
            hint=say("move it away, or give another `out`."),
            source=str(path),
        )
