"""What two runs of the same command may differ in, each with its reason.

A mask is tried only where two files differ. It turns both into texts without the part that may
differ, and everything else is compared.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from validation.golden.renamed import text_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STDOUT = "<stdout>"
STDERR = "<stderr>"


@dataclass(frozen=True)
class Mask:
    """A part of some files that may differ between two runs of one install."""

    name: str
    reason: str
    files: tuple[str, ...]
    apply: Callable[[bytes], bytes]

    def covers(self, file: str) -> bool:
        """Say whether the mask belongs to a file."""
        return any(fnmatch(file, pattern) for pattern in self.files)


def masks(*, folders: tuple[str, ...], servers: tuple[str, ...]) -> tuple[Mask, ...]:
    """Return all masks, the structural ones first; `folders` and `servers` are the two sides'."""
    return (
        *_STRUCTURES,
        Mask("date", "reports say on which day they were made", _REPORTS, _without_dates),
        Mask("machine", "a page says on what machine it was made", ("*.md",), _without_machine),
        Mask("speed", "how fast it went", (STDOUT,), _without_speed),
        Mask("verbs", "verbs stand in groups now, under the names of a table", ("*",), _renamed),
        Mask("version", "reports name the version that made them", _REPORTS, _without_version),
        Mask("folder", "absolute paths name the folder of the install", ("*",), _plain(folders)),
        Mask("port", "each install has a faulty server of its own", ("*",), _plain(servers)),
    )


def as_text(content: bytes) -> str | None:
    """Return a file as text, a table as its schema and rows; None for other binary files."""
    try:
        return _table_text(content) if content[:4] == b"PAR1" else content.decode("utf-8")
    except ValueError:
        return None


def _plain(parts: tuple[str, ...]) -> Callable[[bytes], bytes]:
    def replace(content: bytes) -> bytes:
        for part in parts:
            content = content.replace(part.encode(), b"<masked>")
        return content

    return replace


def _without_dates(content: bytes) -> bytes:
    now = datetime.now(UTC)
    for day in (now, now - timedelta(days=1)):  # a run may begin before midnight
        content = content.replace(f"{day:%Y-%m-%d}".encode(), b"<date>")
    return content


def _renamed(content: bytes) -> bytes:
    return text_now(content.decode("utf-8")).encode()


def _without_machine(content: bytes) -> bytes:
    return re.sub(rb"(?m)^(Made on [^:\n]*: )[^\n]*( Models asked:)$", rb"\1<machine>.\2", content)


def _without_speed(content: bytes) -> bytes:
    return re.sub(rb" \([0-9,]+ a second\)", b" (<speed> a second)", content)


def _without_version(content: bytes) -> bytes:
    content = re.sub(rb"(novarag )[0-9]+(\.[0-9a-z]+)+", rb"\1<version>", content)
    return re.sub(rb'("version": ?")[0-9]+(\.[0-9a-z]+)+"', rb'\1<version>"', content)


# — files that are read, not replaced —


def _journal(content: bytes) -> bytes:
    """Lay a journal out by what happened; who wrote it when, in what order and layout is left out."""
    events = []
    for line in content.splitlines():
        event = json.loads(line[line.index(b"{") :])
        event.pop("version", None)
        event |= {"run": _settings_of(event["run"])} if "run" in event else {}
        events.append({k: v for k, v in event.items() if k not in _PASSING})
    return _lines(events)


def _settings_of(run: str) -> str:
    """Return the part of a run's id that follows from its settings; the rest is drawn."""
    return run.partition("-")[0]


def _lines(rows: list[Any]) -> bytes:
    """Lay rows out as sorted lines."""
    said = sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)
    return "".join(line + "\n" for line in said).encode()


def _attempts(content: bytes) -> bytes:
    """Lay a table of attempts out without their ids and times, in no order."""
    table = _table(content)
    kept = table.drop("attempt", "sent", "settled", strict=False)
    return (json.dumps({k: str(v) for k, v in table.schema.items()}) + "\n").encode() + _lines(
        kept.to_dicts()
    )


def _marker(content: bytes) -> bytes:
    """Read a shard's marker without the digests of what differs, and its own."""
    record = json.loads(content)["content"]
    record.pop("journal")
    record["run"] = _settings_of(record["run"])
    record["files"] = {
        k: v if "attempts/" not in k else "<digest>" for k, v in record["files"].items()
    }
    return _pretty(record)


def _manifest(content: bytes) -> bytes:
    """Read a manifest without versions, and without the digest that covers them."""
    record = json.loads(content)["content"]
    record.pop("versions")
    record["run"] = _settings_of(record["run"])
    record.pop("nonce", None)
    return _pretty(record)


def _drafts(content: bytes) -> bytes:
    """Read the record of sorted drafts without the part of the run's id that is drawn."""
    record = json.loads(content)["content"]
    record["run"] = _settings_of(record["run"])
    return _pretty(record)


def _lease(content: bytes) -> bytes:
    record = json.loads(content)["content"]
    return _pretty({k: v for k, v in record.items() if k not in {"owner", "at", "synced", "head"}})


def _index(content: bytes) -> bytes:
    """Lay the tables of an index out without the times at which rows came in."""
    with closing(sqlite3.connect(":memory:")) as opened:
        opened.text_factory = bytes
        try:
            opened.deserialize(content)
            schema = opened.execute("SELECT name, sql FROM sqlite_master").fetchall()
            said = [*schema]
            for name, sql in schema:
                if sql and sql.startswith(b"CREATE TABLE"):
                    rows = opened.execute(f'SELECT * FROM "{name.decode()}"')
                    said += [[name, *map(_timeless, row)] for row in rows]
        except sqlite3.Error as error:
            raise ValueError from error
    return "".join(f"{row}\n" for row in said).encode()


def _timeless(cell: object) -> object:
    return re.sub(_TIMES, b"", cell) if isinstance(cell, bytes) else cell


def _votes(content: bytes) -> bytes:
    return _lines([json.loads(line) for line in content.splitlines()])


def _pretty(record: object) -> bytes:
    return (json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _table(content: bytes) -> Any:
    import polars as pl

    try:
        return pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError as error:
        raise ValueError from error


def _table_text(content: bytes) -> str:
    """Lay a table out as text: a line for each column's type, then one for each row."""
    table = _table(content)
    return "".join(_table_lines(table.schema.items(), table.iter_rows(named=True)))


def _table_lines(columns: Any, rows: Any) -> Iterator[str]:
    for name, dtype in columns:
        yield f"{name}: {dtype}\n"
    for row in rows:
        yield json.dumps(row, default=str, ensure_ascii=False) + "\n"


# The last two fields of a row: which it is, and since when, both a clock's reading.
_TIMES = re.compile(rb"\x12\x05RowID\x1a.{2,20}\x12\x09Timestamp\x1a.{2,20}", re.DOTALL)
_PASSING = frozenset({"at", "writer", "number", "attempt"})
_REPORTS = ("*.html", "*.md", "*.json", STDOUT)
_STRUCTURES = (
    Mask("journal", "who wrote an event, when and in what order", ("*journal/*.log",), _journal),
    Mask("attempts", "ids and times of attempts", ("*attempts/*.parquet",), _attempts),
    Mask("marker", "digests of journal and attempts", ("*shards/*.json",), _marker),
    Mask("manifest", "versions of Python and novarag", ("*manifest.json",), _manifest),
    Mask("drafts", "the run they are of, whose id is drawn in part", ("*drafts.json",), _drafts),
    Mask("lease", "who holds it since when", ("*leases/*.json",), _lease),
    Mask("index", "when a row of an index came in", ("*.db",), _index),
    Mask("votes", "a judge's replies stand as they came", ("*.votes.jsonl",), _votes),
)
