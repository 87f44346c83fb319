"""Lines of a log as rows: JSON on each line, JSON behind a prefix, or key=value pairs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from novarag.tables.shapes import Row, Shaped, flat
from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

_PAIR = re.compile(r'([A-Za-z_][\w.-]{0,80})=("(?:[^"\\]|\\.){0,4000}"|[^\s"]{0,400})(?=\s|$)')
_LEAST_PAIRS = 2


def shape_log(lines: Iterable[str]) -> Shaped:
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
    return Shaped(rows, f"a log of {len(rows):,} records{left}")


def _record(line: str) -> Row | None:
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
