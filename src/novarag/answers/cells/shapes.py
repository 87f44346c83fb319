"""JSON and lines of logs as flat rows: lists of objects, tables of columns, or a record a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

JsonRow = dict[str, Any]
_DEEPEST = 6  # objects in objects, for names such as a.b.c


class ShapedRows(NamedTuple):
    """Rows of a JSON file: what it was taken for, and what columns are called there."""

    rows: list[JsonRow]
    said: str
    names: Mapping[str, str] = {}


def flat(row: Mapping[str, Any], *, prefix: str = "", depth: int = 0) -> JsonRow:
    """Turn objects in an object into columns with dotted names; lists stay as they are.

    >>> flat({"q": 1, "said": {"confidence": 0.9}})
    {'q': 1, 'said.confidence': 0.9}
    """
    found: JsonRow = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and value and depth < _DEEPEST:
            found |= flat(value, prefix=f"{prefix}{name}.", depth=depth + 1)
        else:
            found[f"{prefix}{name}"] = value
    return found


def are_objects(value: object) -> bool:
    """Say whether a value is a list of objects, at least one."""
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


def shape_json(value: object) -> ShapedRows:
    """Turn a JSON value into rows; ValueError where it holds none, or several lists of them."""
    if isinstance(value, list):
        if not all(isinstance(one, dict) for one in value):
            raise ValueError("its list holds other things than objects")
        return ShapedRows([flat(one) for one in value], "JSON, a list of objects")
    if not isinstance(value, dict):
        raise ValueError(f"it holds a {type(value).__name__}, not rows")  # noqa: TRY004 - of a file
    return _of_columns(value) or _of_object(value)


def _of_columns(value: JsonRow) -> ShapedRows | None:
    """Read tables as pandas and others write them: by column, split, or by index."""
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list):
        rows = [dict(zip(map(str, names), one, strict=False)) for one in data]
        return ShapedRows(rows, "JSON, columns and data")
    if "schema" in value and are_objects(data):
        return ShapedRows([flat(one) for one in data or ()], "JSON, a schema and data")
    inner = list(value.values())
    if len(value) > 1 and all(isinstance(one, list) for one in inner):
        if len({len(one) for one in inner}) == 1 and not any(map(are_objects, inner)):
            rows = [dict(zip(value, cells, strict=True)) for cells in zip(*inner, strict=True)]
            return ShapedRows(rows, "JSON, a list for each column")
        return None
    if inner and all(isinstance(one, dict) for one in inner):
        return _of_index(value)
    return None


def _of_index(value: JsonRow) -> ShapedRows | None:
    """Read an object of objects: by column if all have the same numbered keys, else by row."""
    keys = [tuple(one) for one in value.values()]
    numbered = all(name.isdigit() for name in keys[0]) and keys[0]
    if numbered and len(set(keys)) == 1:
        rows = [{name: cells[key] for name, cells in value.items()} for key in keys[0]]
        return ShapedRows(rows, "JSON, an object for each column")
    if all(name.isdigit() for name in value):
        return ShapedRows([flat(one) for one in value.values()], "JSON, an object for each row")
    return None


def _of_object(value: JsonRow) -> ShapedRows:
    lists = {name: rows for name, rows in value.items() if are_objects(rows)}
    if len(lists) == 1:
        name, rows = next(iter(lists.items()))
        return ShapedRows([flat(one) for one in rows], f"JSON, the list {name!r}")
    if lists:
        raise ValueError(f"it holds several lists of objects ({', '.join(lists)})")
    return ShapedRows([flat(value)], "JSON, one object")


def shape_lines(rows: Iterable[JsonRow], said: str) -> ShapedRows:
    """Turn objects of lines into flat rows."""
    return ShapedRows([flat(row) for row in rows], said)


# — logs —

# A pair of a line of logfmt: answer=Paris, reply="Paris, 90 %".
_PAIR = re.compile(r'([A-Za-z_][\w.-]{0,80})=("(?:[^"\\]|\\.){0,4000}"|[^\s"]{0,400})(?=\s|$)')
_LEAST_PAIRS = 2  # one `a=b` alone may be prose


def shape_log(lines: Iterable[str]) -> ShapedRows:
    r"""Turn lines into rows; ValueError where none holds a record. Others are counted.

    >>> shape_log(["10:31 INFO {\"conf\": 0.9}", "started", "conf=0.8 up=yes"]).rows
    [{'conf': 0.9}, {'conf': '0.8', 'up': 'yes'}]
    """
    rows, without = [], 0
    for line in lines:
        row = _record(line)
        if row is not None:
            rows.append(row)
        elif line.strip():
            without += 1
    if not rows:
        raise ValueError("no line holds a record")
    left = f", {without:,} lines without a record passed over" if without else ""
    return ShapedRows(rows, f"a log of {len(rows):,} records{left}")


def _record(line: str) -> JsonRow | None:
    start = line.find("{")
    if start >= 0 and line.rstrip().endswith("}"):
        try:
            found: Any = parse_json(line[start:])
        except ValueError:
            found = None
        if isinstance(found, dict):
            return flat(found)
    pairs = _PAIR.findall(line)
    if len(pairs) < _LEAST_PAIRS:
        return None
    return {name: _unquoted(value) for name, value in pairs}


def _unquoted(value: str) -> str:
    if value[:1] != '"':
        return value
    return re.sub(r"\\(.)", r"\1", value[1:-1])
