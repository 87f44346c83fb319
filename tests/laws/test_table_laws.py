"""What was written is read: the same values in every dialect, and no cell is guessed."""

import csv
import io
import math

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from novarag import read_answers
from novarag.answers.cells.cell import CellLook, key_of, look_at
from novarag.answers.cells.confidences import ConfidenceSettings, settle_confidences
from novarag.answers.cells.dialect import decode
from novarag.answers.cells.grades import RIGHT, WRONG, GradeSettings, settle_grades
from novarag.answers.cells.unsettled import ColumnValue, UnsettledTable
from novarag.answers.opening.column_cells import (
    confidence_cells,
    confidence_kinds,
    confidence_shares,
    grade_values,
)
from novarag.answers.opening.open_table import open_table

HEAD = ("confidence", "thumbs", "text")
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=12)
CELL = st.one_of(
    TEXT, st.sampled_from(["0,85", "85%", "", 'a"b', "a;b", "a,b", "x\ny", "x\r\ny", "\t"])
)
ROWS = st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=6)
SHARE = st.integers(0, 10000).map(lambda n: n / 10000)
BARE = st.one_of(
    st.floats(-2, 120), st.integers(-2, 120).map(float), st.sampled_from([0.0, 1.0, 0.5, 85.0])
)
STATED = st.one_of(
    BARE.map(lambda n: f"{n:g}"),
    SHARE.map(lambda c: f"{100 * c:g}%"),
    SHARE.map(lambda c: f"{c:g}".replace(".", ",")),
    st.sampled_from(
        ["", "n/a", "high", "9/10", ".5", "1", "0", "100", "NaN", "1e-3", "-1", "true"]
    ),
    TEXT,
)


def distinct(cells):
    first, count = {}, {}
    for row, cell in enumerate(cells, 1):
        first.setdefault(cell, row)
        count[cell] = count.get(cell, 0) + 1
    return [ColumnValue(cell, count[cell], first[cell]) for cell in first if cell is not None]


@settings(max_examples=400, deadline=None)
@given(
    ROWS,
    st.sampled_from(",;\t|"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be"]),
)
def test_what_the_csv_module_wrote_is_read(rows, separator, quoting, end, encoding):
    assume(
        encoding != "utf-16-be" or all(c.isascii() for row in rows for cell in row for c in cell)
    )
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerows([HEAD, *rows])
    table = open_table(io.BytesIO(out.getvalue().encode(encoding)), HEAD[:2]).frame
    assert [tuple(cell or "" for cell in row) for row in table.rows()] == rows


@settings(max_examples=200, deadline=None)
@given(ROWS, st.sampled_from(",;\t|"), st.sampled_from(["necessary", "always"]), st.booleans())
def test_what_polars_wrote_is_read(rows, separator, style, mark):
    frame = pl.DataFrame(rows, schema=list(HEAD), orient="row")
    content = frame.write_csv(separator=separator, quote_style=style, include_bom=mark).encode()
    table = open_table(io.BytesIO(content), HEAD[:2]).frame
    assert [tuple(cell or "" for cell in row) for row in table.rows()] == rows


@settings(max_examples=300)
@given(st.lists(SHARE, min_size=1, max_size=30))
def test_a_percent_column_and_its_twins_are_one(shares):
    columns = {
        "fraction": [f"{c:g}" for c in shares],
        "sign": [f"{100 * c:.2f}%" for c in shares],
        "comma": [f"{c:.4f}".replace(".", ",") for c in shares],
        "comma and sign": [f"{100 * c:.2f} %".replace(".", ",") for c in shares],
        "number": shares,
    }
    for name, cells in columns.items():
        taken = settle_confidences("c", distinct(cells), ConfidenceSettings())
        assert not taken.unsettled, name
        assert [taken.value(cell) for cell in cells] == shares, name
    hundreds = [f"{100 * c:.2f}" for c in shares]
    taken = settle_confidences("c", distinct(hundreds), ConfidenceSettings(out_of=100))
    assert [taken.value(cell) for cell in hundreds] == shares
    found = settle_confidences("c", distinct(hundreds), ConfidenceSettings())
    if max(shares) > 0.01 and not found.unsettled:
        assert [found.value(cell) for cell in hundreds] == shares


@settings(max_examples=600)
@given(st.lists(STATED, min_size=1, max_size=12))
def test_nothing_is_guessed(cells):
    """Each cell of a settled column has one meaning; bare numbers share one scale."""
    taken = settle_confidences("c", distinct(cells), ConfidenceSettings())
    if taken.unsettled:
        for part in taken.unsettled:
            assert part.words()
            assert part.settings or part.advice
        return
    tops = set()
    for cell in cells:
        seen, value = look_at(cell), taken.value(cell)
        assert seen.looks not in {CellLook.WORD, CellLook.OUTSIDE}
        assert (value is None) == (seen.looks is CellLook.EMPTY)
        if value and seen.looks is not CellLook.SIGNED:
            tops.add(round(seen.number / value, 6))
    assert len(tops) <= 1
    assert tops <= {1.0, 100.0}


SETTINGS = st.builds(
    ConfidenceSettings,
    out_of=st.sampled_from([None, 1.0, 10.0, 100.0]),
    values=st.sampled_from([{}, {"high": 0.9}, {"1": 1.0}, {"0.5": 0.25}]),
    unread=st.sampled_from([(), ("*",), ("-1",), ("high", -1.0)]),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(STATED, st.none()), min_size=1, max_size=12), SETTINGS)
def test_a_column_at_once_is_as_its_cells_one_by_one(cells, said):
    column = pl.Series("c", cells, dtype=pl.String)
    taken = settle_confidences("c", confidence_cells(column, "x"), said)
    slow = settle_confidences("c", distinct(cells), said)
    assert bool(taken.unsettled) == bool(slow.unsettled)
    if not taken.unsettled:
        assert confidence_shares(column, taken).to_list() == [slow.value(cell) for cell in cells]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(BARE, st.none(), st.just(math.nan)), min_size=1, max_size=12), SETTINGS)
def test_a_column_of_numbers_is_as_its_cells(cells, said):
    column = pl.Series("c", cells, dtype=pl.Float64)
    taken = settle_confidences("c", confidence_cells(column, "x"), said)
    if not said.named:
        by_kind = settle_confidences("c", confidence_kinds(column, "x"), said)
        assert (by_kind.scale, by_kind.counts) == (taken.scale, taken.counts)
        assert bool(by_kind.unsettled) == bool(taken.unsettled)
    if not taken.unsettled:
        assert confidence_shares(column, taken).to_list() == [taken.value(cell) for cell in cells]


GRADE = st.one_of(
    st.sampled_from(sorted(RIGHT | WRONG)), st.sampled_from(["1", "0", "", "n/a", "2", "-1", "maybe", "x"]), TEXT
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(GRADE, min_size=1, max_size=8))
def test_grades_are_known_words_or_asked_about(cells):
    taken = settle_grades("g", distinct(cells), GradeSettings())
    if taken.unsettled:
        return
    for cell in cells:
        key = key_of(cell)
        meant = {True: RIGHT | {"1"}, False: WRONG | {"0"}}.get(taken.value(cell))
        assert meant is None or key in meant or cell.strip().casefold() in meant
    column = pl.Series("g", cells, dtype=pl.String)
    assert grade_values(column, taken).to_list() == [taken.value(cell) for cell in cells]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), min_size=4))
def test_marked_texts_are_decoded(text):
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        assert decode(text.encode(encoding)).text == text


@given(st.text("abcäöüßéèñ€%;,\n 0123456789", min_size=1))
def test_western_texts_are_decoded(text):
    found = decode(text.encode("cp1252"))
    assert found.text == text or found.encoding == "UTF-8"


@pytest.mark.parametrize(
    "value", ["=1+1", "=HYPERLINK(1)", "@SUM(A1)", "+cmd|' /C calc'!A0", "__import__('os')"]
)
def test_no_cell_is_evaluated(value):
    assert look_at(value).looks is CellLook.WORD
    frame = pl.DataFrame({"confidence": [value], "correct": ["1"]})
    with pytest.raises(UnsettledTable):
        read_answers(frame)
