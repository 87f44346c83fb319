"""Scored answers as annotations of traces: what is said of each, under an id that stays the same.

An answer that was read has a number; one that was not has the word of its flaw and no number. Texts
of questions, passages and answers are not among them: the traces have those already.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from novarag.answers.cells.unsettled import UnsettledTable, find_column, no_column
from novarag.checksums import digest
from novarag.errors import DataError, UsageError
from novarag.texts import parse_json, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

CONFIDENCE, DECISION, EVIDENCE, PASSAGE = (
    f"novarag_{name}" for name in ("confidence", "decision", "evidence", "passage")
)
"""The names under which annotations stand in a tool."""

UNREAD = "unread"

_PLACES = {
    "trace": ("trace_id", "traceid", "trace"),
    "span": ("span_id", "spanid", "observation_id", "observationid"),
    "retriever_span": ("retriever_span_id", "retriever_span"),
}
_KEYS = (("novarag.id",), ("group", "strategy", "model", "sample"), ("id",))
_OPTIONAL = {
    "low": ("calibrated_low", "low"),
    "high": ("calibrated_high", "high"),
    "at": ("time", "timestamp", "start_time"),
    **{name: (name,) for name in ("stated", "interval", "evidence", "decision", "reason", "flaw")},
    **{name: (name,) for name in ("judgments", "passages")},
}


class ToolAnnotation(NamedTuple):
    """One thing said of an answer, or of a passage (counted from 0) that stood before it.

    It has a `value`, or a `label` where it is a word; `unread` is the word of what has no value.
    `about` is a digest of all of it, by which a change is seen. `at` is when it was said, ISO 8601.
    """

    id: str
    trace: str | None
    span: str | None
    name: str
    value: float | None
    label: str | None
    comment: str
    details: Mapping[str, Any]
    position: int | None = None
    at: str | None = None

    @property
    def unread(self) -> bool:
        """Whether it is of an answer that could not be read."""
        return self.name == CONFIDENCE and self.value is None

    @property
    def said(self) -> float | str | None:
        """The value, or the word where there is none."""
        return self.label if self.value is None else self.value

    @property
    def about(self) -> str:
        """What is said, as a digest."""
        said = (self.value, self.label, self.comment, dict(self.details))
        return digest(orjson.dumps(said, option=orjson.OPT_SORT_KEYS))[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedAnswers:
    """A table of scored answers whose columns are known, ready to be laid out."""

    table: pl.DataFrame
    key: tuple[str, ...]
    columns: Mapping[str, str]

    def annotations(self, *, needs: str, documents: bool) -> Iterator[ToolAnnotation]:
        """Lay out every answer that names its place; with `documents` its passages too."""
        for row in self.table.iter_rows(named=True):
            cells = {ours: row[theirs] for ours, theirs in self.columns.items()}
            if cells.get(needs):
                key = [str(row[name]) for name in self.key]
                yield from _annotations(cells, key, documents=documents)

    def unplaced(self, needs: str) -> int:
        """Count the answers that do not name the place that a tool needs."""
        cells = self.table[self.columns[needs]]
        return int((cells.is_null() | (cells == "")).sum())


def place_answers(
    table: pl.DataFrame, places: Mapping[str, str | None], *, needs: str, source: str
) -> PlacedAnswers:
    """Find the columns of a table that name traces and spans, and what makes an answer itself."""
    import polars as pl

    found = {name: _place(table, name, given, source) for name, given in places.items()}
    columns = {name: column for name, column in found.items() if column is not None}
    if needs not in columns:
        part = no_column(_PLACES[needs][0], table.columns, parameter=needs)
        raise UnsettledTable([part], source=source)
    table = table.with_columns(
        pl.col(column).cast(pl.String).str.strip_chars() for column in set(columns.values())
    )
    if len(set(columns.values())) < len(columns):
        raise UsageError.saying("`trace`, `span` and `retriever_span` are three columns, not one")
    for name, spellings in _OPTIONAL.items():
        if (column := _first(table.columns, spellings)) is not None:
            columns[name] = column
    calibrated = "calibrated" in table.columns and table["calibrated"].dtype.is_float()
    columns["confidence"] = "calibrated" if calibrated else "confidence"
    if calibrated:
        columns["stated"] = "confidence"
    plain = {column for column, kind in table.schema.items() if not kind.is_nested()}
    key = next((names for names in _KEYS if set(names) <= plain), ())
    placed = PlacedAnswers(table=table, key=key, columns=columns)
    _refuse_twins(placed, needs, source)
    return placed


def _place(table: pl.DataFrame, name: str, given: str | None, source: str) -> str | None:
    plain = [column for column, kind in table.schema.items() if not kind.is_nested()]
    if given is None:
        return _first(plain, _PLACES[name])
    found = find_column(given, plain)
    if not isinstance(found, str):
        raise UnsettledTable([no_column(given, plain, parameter=name)], source=source)
    return found


def _first(names: Sequence[str], spellings: Sequence[str]) -> str | None:
    """Return the first spelling that is one column; our own object's comes before others'."""
    for spelling in spellings:
        for wanted in (f"novarag.{spelling}", spelling):
            found = find_column(wanted, names)
            if isinstance(found, str):
                return found
    return None


def _refuse_twins(placed: PlacedAnswers, needs: str, source: str) -> None:
    """Refuse rows that nothing tells apart: one would stand in the other's place."""
    names = {placed.columns[name] for name in ("trace", "span") if name in placed.columns}
    table = placed.table.with_row_index("row of the table", 1)
    table = table.filter(table[placed.columns[needs]].fill_null("") != "")
    twins = table.filter(table.select(sorted(names | set(placed.key))).is_duplicated())
    if twins.height:
        raise DataError(
            f"{twins.height:,} rows are of the same trace and span, and nothing tells them apart.",
            hint="give them a column 'id' that does, or keep one row of each.",
            source=source,
            row=int(twins["row of the table"][0]),
        )


def _annotations(
    cells: Mapping[str, Any], key: Sequence[str], *, documents: bool
) -> Iterator[ToolAnnotation]:
    trace, span, value = cells.get("trace"), cells.get("span"), cells["confidence"]
    judged = _judgments(cells)
    flaw = None if value is not None else _word(cells.get("flaw")) or "the reply has no confidence"
    details = _details(cells, judged, read=flaw is None)
    at = _time(cells.get("at"))

    def said(name: str, label: str | None, position: int | None = None) -> ToolAnnotation:
        name_of_it = digest(orjson.dumps([trace, span, *key, name, position]))[:32]
        return ToolAnnotation(name_of_it, trace, span, name, None, label, "", {}, position, at)

    comment = _comment(cells, judged, flaw)
    stated = said(CONFIDENCE, flaw and f"{UNREAD}: {flaw}")
    yield stated._replace(value=value, comment=comment, details=details)
    for name, cell in ((DECISION, "decision"), (EVIDENCE, "evidence")):
        if word := _word(cells.get(cell)):
            yield said(name, word)
    if documents and cells.get("retriever_span"):
        for number, judgment in enumerate(judged):
            if judgment:
                yield said(PASSAGE, judgment, number)._replace(span=cells["retriever_span"])


def _judgments(cells: Mapping[str, Any]) -> list[str | None]:
    """Find the judgments of passages, in their order; None where one was not judged."""
    passages = _list(cells.get("passages"))
    if any(isinstance(one, dict) and "judgment" in one for one in passages):
        return [_word(one.get("judgment")) if isinstance(one, dict) else None for one in passages]
    return [_word(one) for one in _list(cells.get("judgments"))]


def _list(value: object) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = parse_json(value)
        except ValueError:
            return []
    return value if isinstance(value, list) else []


def _word(value: object) -> str | None:
    return plain_text(value, longest=100).strip() or None if isinstance(value, str) else None


def _details(
    cells: Mapping[str, Any], judged: Sequence[str | None], *, read: bool
) -> dict[str, Any]:
    """Gather what stands beside the number: numbers and words of ours, no texts."""
    interval = cells.get("interval")
    low, high = interval if isinstance(interval, list) and len(interval) == 2 else (None, None)
    numbers = {"stated": cells.get("stated"), "low": low, "high": high}
    numbers |= {name: cells[name] for name in ("low", "high") if cells.get(name) is not None}
    found: dict[str, Any] = {name: _number(value) for name, value in numbers.items() if read}
    found |= {name: _word(cells.get(name)) for name in ("evidence", "decision")}
    found["judgments"] = list(judged) or None
    return {name: value for name, value in found.items() if value is not None}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _comment(cells: Mapping[str, Any], judged: Sequence[str | None], flaw: str | None) -> str:
    reason = cells.get("reason")
    words = [plain_text(reason, longest=500)] if isinstance(reason, str) and reason else []
    if flaw and not words:
        words.append(f"the reply could not be read: {flaw}")
    if evidence := _word(cells.get("evidence")):
        words.append(f"evidence {evidence}")
    if any(judged):
        words.append(f"passages {', '.join(one or 'not judged' for one in judged)}")
    return "; ".join(words)


def _time(value: object) -> str | None:
    """Read when an answer was given; what names no zone is UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
