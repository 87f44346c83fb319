"""Tables that libraries write: polars, pandas, openpyxl."""

from __future__ import annotations

import csv as csv_module
from typing import TYPE_CHECKING, Any

from validation.gauntlet.base import HEAD, Entry, answers, cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOLES = answers(holes=True)
PLAIN = answers()


def _columns(stated: str, graded: str, *, holes: bool = True) -> dict[str, list[Any]]:
    rows = cells(HOLES if holes else PLAIN, stated, graded, empty=None)
    return {name: list(values) for name, values in zip(HEAD, zip(*rows, strict=True), strict=True)}


def _polars(
    stated: str, graded: str, write: Callable[[Any, Path], object]
) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        import polars as pl

        write(pl.DataFrame(_columns(stated, graded), strict=False), path)

    return make


def polars_tables() -> Iterator[Entry]:
    def struct(frame: Any, path: Path) -> None:
        import polars as pl

        said = pl.struct(pl.col("confidence"), pl.col("answer")).alias("response")
        frame.select("question", said, pl.struct("thumbs").alias("feedback")).write_parquet(path)

    wide = ("--confidence", "response.confidence", "--correct", "feedback.thumbs")
    for file, stated, graded, command, write, first in (
        ("polars.csv", "float", "bool", "write_csv(path)", lambda f, p: f.write_csv(p), None),
        ("polars_always.csv", "percent", "up", 'write_csv(path, quote_style="always")', lambda f, p: f.write_csv(p, quote_style="always"), None),
        ("polars_comma.csv", "float", "yes", 'write_csv(path, separator=";", decimal_comma=True)', lambda f, p: f.write_csv(p, separator=";", decimal_comma=True), None),
        ("polars_tab.tsv", "hundred", "tick", 'write_csv(path, separator="\\t")', lambda f, p: f.write_csv(p, separator="\t"), None),
        ("polars_na.csv", "float hundred", "int", 'write_csv(path, null_value="NA")', lambda f, p: f.write_csv(p, null_value="NA"), None),
        ("polars_mark.csv", "comma", "thumb", "write_csv(path, include_bom=True)", lambda f, p: f.write_csv(p, include_bom=True), None),
        ("polars_six_places.csv", "float", "right", "write_csv(path, float_precision=6)", lambda f, p: f.write_csv(p, float_precision=6), None),
        ("polars.ndjson", "float", "bool", "write_ndjson(path)", lambda f, p: f.write_ndjson(p), None),
        ("polars_texts.jsonl", "percent", "thumb", "write_ndjson(path)", lambda f, p: f.write_ndjson(p), None),
        ("polars.json", "float", "up", "write_json(path)", lambda f, p: f.write_json(p), None),
        ("polars.parquet", "float", "bool", "write_parquet(path)", lambda f, p: f.write_parquet(p), None),
        ("polars_texts.parquet", "percent", "correct", "write_parquet(path)", lambda f, p: f.write_parquet(p), None),
        ("polars_structs.parquet", "float", "bool", "select(struct(...)).write_parquet(path)", struct, wide),
        ("polars.xlsx", "float", "up", "write_excel(path)", lambda f, p: f.write_excel(p), None),
    ):  # fmt: skip
        yield Entry(
            file, "polars", f"DataFrame.{command}", _polars(stated, graded, write),
            first=first or ("--correct", "thumbs"), truth="holes",
        )  # fmt: skip


def _pandas(
    stated: str, graded: str, write: Callable[[Any, Path], object]
) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        import pandas as pd

        write(pd.DataFrame(_columns(stated, graded)), path)

    return make


def pandas_tables() -> Iterator[Entry]:
    every = csv_module.QUOTE_ALL
    for file, stated, graded, command, write in (
        ("pandas.csv", "float", "bool", "to_csv(path)", lambda f, p: f.to_csv(p)),
        ("pandas_bare.csv", "percent", "up", "to_csv(path, index=False)", lambda f, p: f.to_csv(p, index=False)),
        ("pandas_german.csv", "float", "right", 'to_csv(path, sep=";", decimal=",", index=False)', lambda f, p: f.to_csv(p, sep=";", decimal=",", index=False)),
        ("pandas_na.csv", "float", "yes", 'to_csv(path, na_rep="N/A")', lambda f, p: f.to_csv(p, na_rep="N/A")),
        ("pandas_quoted.csv", "hundred", "1", "to_csv(path, quoting=csv.QUOTE_ALL, index=False)", lambda f, p: f.to_csv(p, quoting=every, index=False)),
        ("pandas_utf16.csv", "percent", "thumb", 'to_csv(path, encoding="utf-16", sep="\\t", index=False)', lambda f, p: f.to_csv(p, encoding="utf-16", sep="\t", index=False)),
        ("pandas_mark.csv", "float hundred", "tick", 'to_csv(path, encoding="utf-8-sig")', lambda f, p: f.to_csv(p, encoding="utf-8-sig")),
        ("pandas_percents.csv", "float", "up", 'to_csv(path, float_format="{:.0%}".format)', lambda f, p: f.to_csv(p, float_format="{:.0%}".format)),
        ("pandas_grades_float.csv", "float", "int", "to_csv(path)", lambda f, p: f.to_csv(p)),
        ("pandas_gzip.csv.gz", "float", "correct", "to_csv(path)", lambda f, p: f.to_csv(p)),
        ("pandas_records.json", "float", "bool", 'to_json(path, orient="records")', lambda f, p: f.to_json(p, orient="records")),
        ("pandas_columns.json", "float", "up", "to_json(path)", lambda f, p: f.to_json(p)),
        ("pandas_split.json", "percent", "yes", 'to_json(path, orient="split")', lambda f, p: f.to_json(p, orient="split")),
        ("pandas_index.json", "float", "int", 'to_json(path, orient="index")', lambda f, p: f.to_json(p, orient="index")),
        ("pandas_table.json", "float", "right", 'to_json(path, orient="table")', lambda f, p: f.to_json(p, orient="table")),
        ("pandas_lines.jsonl", "float", "bool", 'to_json(path, orient="records", lines=True)', lambda f, p: f.to_json(p, orient="records", lines=True)),
        ("pandas_lines.json", "percent", "thumb", 'to_json(path, orient="records", lines=True)', lambda f, p: f.to_json(p, orient="records", lines=True)),
        ("pandas.parquet", "float", "bool", "to_parquet(path)", lambda f, p: f.to_parquet(p)),
        ("pandas_hundred.parquet", "float hundred", "up", "to_parquet(path)", lambda f, p: f.to_parquet(p)),
        ("pandas_openpyxl.xlsx", "float", "bool", 'to_excel(path, engine="openpyxl")', lambda f, p: f.to_excel(p, engine="openpyxl")),
        ("pandas_xlsxwriter.xlsx", "percent", "thumbs up", 'to_excel(path, engine="xlsxwriter", index=False)', lambda f, p: f.to_excel(p, engine="xlsxwriter", index=False)),
    ):  # fmt: skip
        yield Entry(
            file, "pandas", f"DataFrame.{command}", _pandas(stated, graded, write), truth="holes"
        )


def _openpyxl(rows: list[Any], form: str | None, notes: bool) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        from openpyxl import Workbook

        book = Workbook()
        sheet = book.active
        assert sheet is not None
        if notes:
            sheet.title = "Notes"
            sheet.append(["Exported for the review"])
            sheet.append(["Ask Ada"])
            sheet = book.create_sheet("Answers")
        sheet.append(list(HEAD))
        for row in rows:
            sheet.append(list(row))
            if form:
                sheet.cell(sheet.max_row, 3).number_format = form
        book.save(path)

    return make


def openpyxl_tables() -> Iterator[Entry]:
    for file, stated, graded, form, notes in (
        ("openpyxl.xlsx", "float", "bool", None, False),
        ("openpyxl_percent_format.xlsx", "float", "up", "0%", False),
        ("openpyxl_percent_texts.xlsx", "percent", "thumb", None, False),
        ("openpyxl_second_sheet.xlsx", "hundred", "yes", None, True),
        ("openpyxl_hundred.xlsx", "float hundred", "int", "0.0", False),
    ):
        rows = cells(HOLES, stated, graded, empty=None)
        command = f"Workbook().save(path); number_format={form!r}, a sheet of notes={notes}"
        yield Entry(file, "openpyxl", command, _openpyxl(rows, form, notes), truth="holes")
