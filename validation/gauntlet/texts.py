"""Delimited texts: the csv module in its dialects, R, LibreOffice, and what people do by hand."""

from __future__ import annotations

import csv
import gzip
import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validation.gauntlet.base import HEAD, Entry, answers, cells, stars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOLES = answers(holes=True)
PLAIN = answers()


class _Semicolon(csv.excel):
    delimiter = ";"
    lineterminator = "\n"


class _Bars(csv.unix_dialect):
    delimiter = "|"
    quoting = csv.QUOTE_MINIMAL


class _NonNumeric(csv.excel):
    quoting = csv.QUOTE_NONNUMERIC


DIALECTS: dict[str, type[csv.Dialect]] = {
    "excel": csv.excel,
    "excel-tab": csv.excel_tab,
    "unix": csv.unix_dialect,
    "semicolon": _Semicolon,
    "bars": _Bars,
    "nonnumeric": _NonNumeric,
}


def _csv(
    dialect: str, rows: list[Any], encoding: str = "utf-8", head: tuple[str, ...] = HEAD
) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        opened: Any = gzip.open if path.suffix == ".gz" else open
        with opened(path, "wt", encoding=encoding, newline="") as file:
            writer = csv.writer(file, dialect=DIALECTS[dialect])
            writer.writerow(head)
            writer.writerows(rows)

    return make


def _ascii(rows: list[Any]) -> list[Any]:
    return rows


def _module(  # noqa: PLR0913 - a table in one line
    file: str,
    dialect: str,
    stated: str,
    graded: str,
    *,
    holes: bool = False,
    empty: str = "",
    encoding: str = "utf-8",
) -> Entry:
    rows = cells(HOLES if holes else PLAIN, stated, graded, empty=empty)
    return Entry(
        file,
        "python csv",
        f"csv.writer(file, dialect={dialect!r}), encoding={encoding!r}",
        _csv(dialect, rows, encoding),
        truth="holes" if holes else "plain",
    )


def module_tables() -> Iterator[Entry]:
    yield _module("csv_excel_fraction_true.csv", "excel", "fraction", "true")
    yield _module("csv_excel_percent_up.csv", "excel", "percent", "up", holes=True)
    yield _module("csv_excel_hundred_1.csv", "excel", "hundred", "1")
    yield _module("csv_excel_comma_yes.csv", "excel", "comma", "yes", holes=True, empty="n/a")
    yield _module("csv_tab_fraction_tick.tsv", "excel-tab", "fraction", "tick")
    yield _module("csv_tab_percent_thumb.tsv", "excel-tab", "percent, space", "thumb", holes=True)
    yield _module("csv_tab_comma_right.tsv", "excel-tab", "comma", "right")
    yield _module("csv_tab_hundred_correct.txt", "excel-tab", "hundred", "correct", holes=True)
    yield _module("csv_unix_fraction_true.csv", "unix", "fraction", "True", holes=True)
    yield _module("csv_unix_percent_yes.csv", "unix", "percent", "yes", holes=True, empty="N/A")
    yield _module("csv_unix_hundred_up.csv", "unix", "hundred", "thumbs up", holes=True)
    yield _module("csv_unix_comma_thumb.csv", "unix", "comma", "thumb, tone")
    yield _module("csv_semicolon_comma_up.csv", "semicolon", "comma", "up", holes=True)
    yield _module("csv_semicolon_percent_1.csv", "semicolon", "percent, comma", "1")
    yield _module("csv_semicolon_fraction_pass.csv", "semicolon", "fraction", "pass", holes=True)
    yield _module("csv_semicolon_hundred_t.csv", "semicolon", "hundred", "T")
    yield _module("csv_bars_fraction.csv", "bars", "fraction", "yes", holes=True)
    yield _module("csv_point_without_zero.csv", "excel", "bare point", "green tick", holes=True)
    yield _module("csv_ratio.csv", "excel", "ratio", "right", holes=True, empty="-")
    yield _module("csv_mark.csv", "excel", "percent", "up", encoding="utf-8-sig")
    yield _module("csv_utf16.txt", "excel-tab", "percent", "thumb", holes=True, encoding="utf-16")
    yield _module("csv_utf16_unmarked.csv", "excel", "fraction", "up", encoding="utf-16-le")
    yield _module("csv_cp1252.csv", "semicolon", "comma", "right", holes=True, encoding="cp1252")
    yield _module("csv_latin1.csv", "excel", "hundred", "yes", encoding="latin-1")
    yield _module("csv_gzip.csv.gz", "excel", "percent", "up", holes=True)
    yield _module("csv_null.csv", "unix", "fraction", "1", holes=True, empty="NULL")
    numbers = cells(PLAIN, "float", "int")
    yield Entry(
        "csv_nonnumeric.csv", "python csv", "csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)",
        _csv("nonnumeric", numbers),
    )  # fmt: skip
    rated = [
        (*row[:3], star)
        for row, star in zip(cells(HOLES, "percent", "1"), stars(HOLES), strict=True)
    ]
    head = (*HEAD[:3], "stars")
    yield Entry(
        "csv_stars.csv", "python csv", "csv.writer(file)", _csv("excel", rated, head=head),
        first=("--correct", "stars", "--right", "4,5"), truth="holes",
    )  # fmt: skip
    yield Entry(
        "csv_stars_unsaid.csv", "python csv", "csv.writer(file)", _csv("excel", rated, head=head),
        first=("--correct", "stars"), second=("--right", "4,5"), truth="holes",
    )  # fmt: skip
    spelt = [(q, a, round(10 * float(c)), g) for q, a, c, g in cells(PLAIN, "float", "up")]
    yield Entry(
        "csv_of_ten.csv", "python csv", "csv.writer(file)", _csv("excel", spelt),
        second=("--out-of", "10"), truth="tenths",
    )  # fmt: skip
    rng = random.Random("mixed")
    both = [
        (q, a, c if rng.random() < 0.5 or c in {0, 1} else round(100 * c), g)
        for q, a, c, g in cells([r for r in PLAIN if r.confidence != 1], "float", "up")
    ]
    yield Entry(
        "csv_both_scales.csv", "python csv", "csv.writer(file)", _csv("excel", both),
        second=("--mixed",), truth="without 1",
    )  # fmt: skip
    words = {0.9: "high", 0.8: "medium"}
    said = [(q, a, words.get(c, c), g) for q, a, c, g in cells(PLAIN, "float", "yes")]
    yield Entry(
        "csv_words.csv", "python csv", "csv.writer(file)", _csv("excel", said),
        second=("--unread", "medium,high"), truth="without words",
    )  # fmt: skip


# --- R -------------------------------------------------------------------------------------------

_R = """
d <- read.csv(COMMA, colClasses = c("character", "character", "numeric", "logical"), encoding = "UTF-8")
names(d)[4] <- "thumbs"
{write}
"""


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=180)


def _r(write: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "in.csv"
            _csv("excel", cells(HOLES, "fraction", "true", empty="NA"))(source)
            script = f"path <- '{path}'\n" + _R.replace("COMMA", f"'{source}'").format(write=write)
            _run("Rscript", "--vanilla", "-e", script)

    return make


def r_tables() -> Iterator[Entry]:
    for file, write in (
        ("r_write_csv.csv", "write.csv(d, path)"),
        ("r_write_csv_bare.csv", 'write.csv(d, path, row.names = FALSE, na = "")'),
        ("r_write_csv2.csv", "write.csv2(d, path, row.names = FALSE)"),
        ("r_write_table.tsv", 'write.table(d, path, sep = "\\t", row.names = FALSE, quote = TRUE)'),
        (
            "r_percent.csv",
            'd$confidence <- ifelse(is.na(d$confidence), NA, sprintf("%.0f%%", 100 * d$confidence));'
            ' d$thumbs <- ifelse(d$thumbs, "up", "down"); write.csv(d, path, row.names = FALSE)',
        ),
    ):
        yield Entry(file, "R", write, _r(write), truth="holes")


# --- LibreOffice ---------------------------------------------------------------------------------


def _office(given: str, target: str, stated: str, graded: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{path.name.partition('.')[0]}{given}"
            _csv("excel", cells(HOLES, stated, graded))(source)
            profile = f"-env:UserInstallation=file://{folder}/profile"
            _run(
                "soffice", profile, "--headless", "--infilter=CSV:44,34,76,1", "--convert-to", target,
                "--outdir", f"{folder}/out", str(source),
            )  # fmt: skip
            [made] = (Path(folder) / "out").iterdir()
            shutil.copyfile(made, path)

    return make


def office_tables() -> Iterator[Entry]:
    text = "csv:Text - txt - csv (StarCalc)"
    for file, target, stated, graded in (
        ("office_fraction.xlsx", "xlsx:Calc MS Excel 2007 XML", "fraction", "yes"),
        ("office_percent.xlsx", "xlsx:Calc MS Excel 2007 XML", "percent", "true"),
        ("office_semicolon.csv", f"{text}:59,34,76", "fraction", "up"),
        ("office_tab_utf16.csv", f"{text}:9,34,65535", "fraction", "right"),
        ("office_quoted_latin.csv", f"{text}:44,34,12,1,,0,true", "hundred", "correct"),
    ):
        command = f"soffice --headless --convert-to {target!r}"
        yield Entry(
            file, "LibreOffice", command, _office(".csv", target, stated, graded), truth="holes"
        )


# --- by hand -------------------------------------------------------------------------------------


def _written(text: str, encoding: str = "utf-8") -> Callable[[Path], None]:
    return lambda path: path.write_bytes(text.encode(encoding)) and None


def hand_tables() -> Iterator[Entry]:
    rows = cells(PLAIN, "comma", "up")
    bare = "confidence,thumbs\n" + "".join(f"{c},{g}\n" for _, _, c, g in rows)
    yield Entry(
        "hand_comma_without_quotes.csv", "by hand", "a comma in numbers, no quotes", _written(bare),
        second=("--decimal-comma",), by_hand=True,
    )  # fmt: skip
    excel = "sep=;\r\n" + "confidence;thumbs\r\n" + "".join(f"{c};{g}\r\n" for _, _, c, g in rows)
    yield Entry(
        "hand_sep_line.csv",
        "by hand",
        "as Excel for Windows reads it",
        _written(excel),
        by_hand=True,
    )
    old = "confidence\tthumbs\r" + "".join(
        f"{c}\t{g}\r" for _, _, c, g in cells(PLAIN, "percent", "tick")
    )
    yield Entry(
        "hand_carriage_returns.txt",
        "by hand",
        "lines end as on old Macs",
        _written(old),
        by_hand=True,
    )
    spelt = " Confidence , Thumbs \n" + "".join(
        f" {c} , {g} \n" for _, _, c, g in cells(PLAIN, "percent", "up")
    )
    yield Entry("hand_spaces.csv", "by hand", "spaces around cells", _written(spelt), by_hand=True)
    signs = [f"{100 * r.confidence:.0f}{'%' if i % 2 else ''}" for i, r in enumerate(PLAIN)]  # type: ignore[operator]
    half = "confidence,thumbs\n" + "".join(
        f"{c},{g}\n" for c, (*_, g) in zip(signs, cells(PLAIN, "float", "up"), strict=True)
    )
    yield Entry(
        "hand_some_signs.csv",
        "by hand",
        "some cells without their sign",
        _written(half),
        by_hand=True,
    )
    yield Entry(
        "hand_minus_one.csv", "by hand", "1 and -1 for thumbs",
        _written("confidence,thumbs\n" + "".join(f"{c},{g}\n" for _, _, c, g in cells(PLAIN, "fraction", "+1"))),
        second=("--right", "1"), by_hand=True,
    )  # fmt: skip
