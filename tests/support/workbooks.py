"""Workbooks as their XML, so that a sheet can say anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile

if TYPE_CHECKING:
    from pathlib import Path

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def _relations(**targets: str) -> str:
    listed = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{name.rstrip("0123456789")}" Target="{target}"/>'
        for name, target in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{listed}</Relationships>'


def sheet(*rows: str) -> str:
    """Put rows into a sheet."""
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>'


def cell(place: str, value: str = "1") -> str:
    """Fill one cell, in a row of its own."""
    row = re.sub(r"\D", "", place)
    return f'<row r="{row}"><c r="{place}" t="inlineStr"><is><t>{value}</t></is></c></row>'


def table(rows: list[list[str]]) -> list[str]:
    """Write rows whose cells do not say where they stand."""
    return [
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{v}</t></is></c>' for v in row) + "</row>"
        for row in rows
    ]


def write_workbook(
    path: Path, *sheets: str, shared: int = 1, parts: dict[str, str] | None = None
) -> Path:
    """Write a workbook; each sheet is named `shared` times, and `parts` are added as they are."""
    names = [f"worksheet{n}" for n in range(1, len(sheets) + 1)]
    listed = "".join(
        f'<sheet name="{name} {time}" sheetId="{n}{time}" r:id="{name}"/>'
        for time in range(shared)
        for n, name in enumerate(names, 1)
    )
    book = f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>'
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", f'<Types xmlns="{_PACKAGE}/content-types"/>')
        file.writestr("_rels/.rels", _relations(officeDocument="xl/workbook.xml"))
        file.writestr("xl/workbook.xml", book)
        targets = {name: f"worksheets/{name}.xml" for name in names}
        file.writestr("xl/_rels/workbook.xml.rels", _relations(**targets))
        for name, content in zip(names, sheets, strict=True):
            file.writestr(f"xl/worksheets/{name}.xml", content)
        for name, content in (parts or {}).items():
            file.writestr(name, content)
    return path
