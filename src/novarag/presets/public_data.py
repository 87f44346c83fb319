"""The register of public data: `public_data.toml` as records."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from novarag.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A public file: its path in the source, where it is fetched, and what it must be."""

    path: str
    address: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTable:
    """A table that is made of public files; `to` is its place in the folder of the data.

    `digest` is that of its rows, see `novarag.datasets.converters.table_digest`.
    """

    to: str
    converter: str
    parts: tuple[str, ...]
    rows: int
    digest: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSource:
    """A public source: what it is for, its licence, its files, and the tables made of them.

    `address_tried` says whether somebody fetched the files from their addresses; their checksums
    are known all the same.
    """

    name: str
    title: str
    use: str
    page: str
    licence: str
    address_tried: bool
    files: tuple[PublicFile, ...]
    tables: tuple[PublicTable, ...]
    note: str = ""

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)


@lru_cache(maxsize=1)
def public_sources() -> Mapping[str, PublicSource]:
    """Return every public source by its name."""
    text = files("novarag").joinpath("presets", "public_data.toml").read_text("utf-8")
    return {name: _source(name, given) for name, given in tomllib.loads(text).items()}


def public_source(name: str) -> PublicSource:
    """Return a public source."""
    if name not in public_sources():
        raise UnknownNameError(name, public_sources())
    return public_sources()[name]


def public_table(to: str) -> PublicTable:
    """Return the table of a place in the folder of the data."""
    tables = {t.to: t for source in public_sources().values() for t in source.tables}
    return tables[to]


def _source(name: str, given: dict[str, Any]) -> PublicSource:
    base = given.pop("base")
    found = [_file(file, base) for file in given.pop("files")]
    tables = [
        PublicTable(**table | {"parts": tuple(table["parts"])}) for table in given.pop("tables")
    ]
    return PublicSource(name=name, files=tuple(found), tables=tuple(tables), **given)


def _file(given: dict[str, Any], base: str) -> PublicFile:
    return PublicFile(
        path=given["path"],
        address=given.get("base", base) + given["path"],
        size=given["bytes"],
        sha256=given["sha256"],
    )
