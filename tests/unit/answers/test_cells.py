"""The pure core: cells, columns, names, dialects, shapes, exports and logs."""

import pickle

import pytest

from novarag.answers.cells.cell import CellLook, key_of, look_at, number_of
from novarag.answers.cells.confidences import (
    ConfidenceSettings,
    Scale,
    say_confidences,
    settle_confidences,
)
from novarag.answers.cells.dialect import (
    DelimitedText,
    UnevenRows,
    decode,
    delimited,
    joined,
    uneven,
)
from novarag.answers.cells.exports import known_columns, shape_export
from novarag.answers.cells.grades import GradeSettings, Grading, say_grades, settle_grades
from novarag.answers.cells.shapes import shape_json, shape_log
from novarag.answers.cells.unsettled import (
    ColumnValue,
    SettlingOption,
    UnsettledColumn,
    UnsettledTable,
    find_column,
    listed,
    no_column,
)
from novarag.errors import DataError
from novarag.prose import Blank


def found(*cells):
    first = {}
    for row, cell in enumerate(cells, 1):
        first.setdefault((type(cell), cell), [cell, 0, row])[1] += 1
    return [ColumnValue(*one) for one in first.values() if one[0] is not None]


def stated(*cells, **settings):
    return settle_confidences("conf", found(*cells), ConfidenceSettings(**settings))


def values(*cells, **settings):
    taken = stated(*cells, **settings)
    assert not taken.unsettled, [part.words() for part in taken.unsettled]
    return [taken.value(cell) for cell in cells]


def opened(*cells, **settings):
    return [part.words() for part in stated(*cells, **settings).unsettled]


# --- cells ---


@pytest.mark.parametrize(
    ("cell", "looks", "number"),
    [
        ("85%", CellLook.SIGNED, 0.85), ("85 %", CellLook.SIGNED, 0.85), ("8,5\u202f%", CellLook.SIGNED, 0.085),
        ("85 percent", CellLook.SIGNED, 0.85), ("9/10", CellLook.SIGNED, 0.9), ("0.7%", CellLook.SIGNED, 0.007),
        ("８５％", CellLook.SIGNED, 0.85), ("0,85", CellLook.FRACTION, 0.85), (".85", CellLook.FRACTION, 0.85),
        ("1e-05", CellLook.FRACTION, 1e-05), ("85", CellLook.MANY, 85.0), ("7.5", CellLook.FEW, 7.5),
        ("1,0", CellLook.ONE, 1.0), ("-0.0", CellLook.ZERO, 0.0), ("-1", CellLook.OUTSIDE, -1.0),
        ("101", CellLook.OUTSIDE, 101.0), ("120%", CellLook.OUTSIDE, 1.2), ("11/10", CellLook.OUTSIDE, 1.1),
        ("", CellLook.EMPTY, None), (" N/A ", CellLook.EMPTY, None), ("\u2014", CellLook.EMPTY, None),
        (None, CellLook.EMPTY, None), (float("nan"), CellLook.EMPTY, None), (float("inf"), CellLook.OUTSIDE, None),
        (True, CellLook.WORD, None), ("high", CellLook.WORD, None), ("80-90%", CellLook.WORD, None),
        ("~85%", CellLook.WORD, None), ("8²", CellLook.WORD, None), ("1.234,5", CellLook.WORD, None),
        ("9" * 100, CellLook.WORD, None), ("9/7", CellLook.WORD, None), (1, CellLook.ONE, 1.0),
    ],
)  # fmt: skip
def test_a_cell_by_itself(cell, looks, number):
    assert look_at(cell) == (looks, number)


def test_keys_are_what_cells_and_settings_share():
    assert {key_of(cell) for cell in (4, 4.0, "4", " 4.0", "4,0", "+4")} == {"4"}
    assert key_of("👍🏽") == key_of("👍\ufe0f") == "👍"
    assert (key_of(None), key_of(float("nan")), key_of(False)) == ("", "", "false")
    assert key_of("Thumbs-Up") == key_of("thumbs  up") == "thumbs up"
    assert (number_of("4"), number_of("4%"), number_of("x")) == (4.0, None, None)


# --- confidences ---


def test_one_scale_for_bare_numbers():
    assert values("0.3", "1", "0", "") == [0.3, 1.0, 0.0, None]
    assert values("0", "1") == [0.0, 1.0]
    assert values("85", "0", "100") == [0.85, 0.0, 1.0]
    assert values("85", "3", "1") == [0.85, 0.03, 0.01]
    assert values("85%", "90", "n/a") == [0.85, 0.9, None]
    assert values(0.007, 0.5, percent=False, out_of=100) == [7e-05, 0.005]
    assert values("7", "10", "8/10", out_of=10) == [0.7, 1.0, 0.8]
    assert values("0.85", "85", "100%", mixed=True) == [0.85, 0.85, 1.0]
    assert values("500", "20", out_of=1000) == [0.5, 0.02]


def test_what_may_mean_two_things_is_left_open_with_what_settles_it():
    [one] = opened("85", "1", "90", "1")
    assert one == (
        "'1' (2 rows, first in row 2) may be 1 % or 100 %."
        " Fix: pass `percent=True` for 1 %, or `values={'1': 1.0}` for 100 %."
    )
    [signs] = opened("85%", "0.9")
    assert "`out_of=1` if 0.9 is 90 %, or `percent=True` if it is 0.9 %" in signs
    [small] = opened("3", "4")
    assert "`out_of=5`, or `out_of=10`, or `percent=True`" in small
    assert "out_of=5" not in opened("3", "8")[0]
    both, whole = opened("0.85", "85", "1")
    assert "beside 1 row over 1 ('85' in row 2)" in both
    assert "`mixed=True` if 0.85 is 85 %, or `percent=True` if it is 0.85 %" in both
    assert "1 % or 100 %" in whole
    assert "`values={'1': 0.01}` for 1 %" in opened("0.85", "85", "1", mixed=True)[0]
    [fractions] = opened("0.5", percent=True)
    assert "`out_of=100`" in fractions
    assert "else leave `percent` out" in fractions


def test_strangers_are_listed_together():
    outside, words = opened("0.5", "high", "-1", "low", "high")
    assert outside.startswith("'-1' (row 3) is outside 0 to 100. Fix: pass `unread=('-1',)`")
    assert "'high' (2 rows, first in row 2), 'low' (row 4) are not numbers" in words
    assert "`values={'high': SHARE, 'low': SHARE}`" in words
    assert "`out_of=NUMBER`" in opened("0.5", "336")[0]
    assert "`percent=True` if this column" in opened("0.5", "85", out_of=1)[0]
    assert values("0.5", "high", "-1", unread=("high", -1.0)) == [0.5, None, None]
    assert values("0.5", "high", values={"HIGH": 0.9}) == [0.5, 0.9]
    many = [f"word {i}" for i in range(20)]
    [part] = opened("0.5", *many)
    assert "12 more (12 rows)" in part
    assert "`unread=('*',)`" in part
    assert values("0.5", *many, "336", unread=("*",)) == [0.5] + [None] * 21
    assert opened(float("inf"))[0].startswith("inf (row 1) is outside")


def test_a_scale_is_a_function():
    assert Scale(100.0).share(85.3) == 0.853
    assert Scale(1.0, mixed=True).share(85.0) == Scale(1.0, mixed=True).share(0.85) == 0.85


# --- grades ---


def graded(*cells, **settings):
    return settle_grades("thumbs", found(*cells), GradeSettings(**settings))


def grades(*cells, **settings):
    taken = graded(*cells, **settings)
    assert not taken.unsettled, [part.words() for part in taken.unsettled]
    return [taken.value(cell) for cell in cells]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("up", "down"), ("👍🏽", "👎"), ("yes", "No"), ("1", "0"), (1.0, 0.0), (True, False), ("✓", "✗"),
        ("✅", "❌"), ("Right", "WRONG"), ("correct", "incorrect"), ("thumbs_up", "Thumbs-Down"),
        ("PASS", "FAIL"), ("t", "f"), (":+1:", ":-1:"),
    ],
)  # fmt: skip
def test_words_for_right_and_wrong(right, wrong):
    assert grades(right, wrong, "", "n/a", None) == [True, False, None, None, None]


def test_stars_and_scores_are_named_by_the_caller():
    assert grades(5, 4, 3, 1, right=("4", "5")) == [True, True, False, False]
    assert grades("0.7", "0.2", "", right=(">=0.5",)) == [True, False, None]
    assert grades(">x", "0.2", "70", right=(">50%", "<= -1")) == [False, False, True]
    assert grades("a", "b", wrong=("b",)) == [True, False]
    assert grades("5", "3", "1", right=("5",), ungraded=("3",)) == [True, None, False]
    assert grades("1", "9", right=("<2",)) == [True, False]


def test_what_is_no_grade_is_left_open():
    [stars] = graded(1, 5, 1).unsettled
    assert stars.words().startswith("1 (2 rows, first in row 1), 5 (row 2) are numbers")
    assert stars.settings[0] == SettlingOption("right", ("4", "5"), stars.settings[0].means)
    assert graded(1, -1).unsettled[0].settings[0].value == ("1",)
    assert graded(0, 1, -1).unsettled[0].settings[1].value == ("0",)
    assert graded(7).unsettled[0].why == "is a number other than 0 and 1"
    assert graded(0.5, 0.7).unsettled[0].settings[0].value == (">=0.5",)
    assert graded(*[i / 3 for i in range(30)]).unsettled[0].settings[0].value[0].startswith(">=9.6")
    [meh] = graded("up", "down", "meh").unsettled
    assert [one.parameter for one in meh.settings] == ["ungraded", "right"]
    [x] = graded("x").unsettled
    assert [one.parameter for one in x.settings] == ["right", "ungraded"]
    many = graded(*map(str, "abcdeghijklm")).unsettled[0]
    assert "another column" in many.advice
    assert graded("up", "maybe", "down", right=("up",), wrong=("down",)).unsettled
    assert graded("1").value("2") is None


# --- what was taken, and what is open, in words ---


def test_what_was_taken_for_what():
    taken = stated("85%", "0.5", "high", "-1", out_of=1, values={"high": 0.9}, unread=("-1",))
    said = say_confidences("conf", taken, {"": 2, "high": 1, "-1": 3})
    assert said == (
        "confidence: column 'conf', 1 with their sign, such as 85%; 1 from 0 to 1;"
        " 'high' as 0.9 (1); 5 unread ('-1' 3, empty 2)"
    )
    assert "from 0 to 100" in say_confidences("c", stated("85"), {})
    assert "percents where over 1" in say_confidences("c", stated("85", mixed=True), {})
    told = say_grades("t", graded("up", "up", "down"), empty=3)
    assert (
        told == "correct: column 't', 2 right ('up' 2); 1 wrong ('down' 1); 3 not graded (empty 3)"
    )
    many = graded(*[str(i) for i in range(9)], right=("8",))
    assert "2 other values" in say_grades("t", many)
    assert many.counts[Grading.RIGHT] == {"8": 1}


def test_everything_open_is_told_at_once():
    words = UnsettledColumn(
        "c",
        (ColumnValue("high", 1, 4, "a.csv"),),
        "is not a number",
        (SettlingOption("unread", ("high",), ""),),
    )
    share = UnsettledColumn("c", (ColumnValue("low", 2, 5),), "x", (SettlingOption("values", {"low": Blank("SHARE")}, ""), SettlingOption("unread", ("low",), "")))  # fmt: skip
    alone = UnsettledTable([words], source="a.csv")
    assert (
        str(alone)
        == "a.csv, row 4, column 'c': 'high' is not a number. Fix: pass `unread=('high',)`."
    )
    assert (alone.row, alone.column, alone.source) == (4, "c", "a.csv")
    both = UnsettledTable([words, share], source="a.csv")
    assert str(both).splitlines()[0] == "a.csv: 2 things are to be settled before this can be read."
    assert len(str(both).splitlines()) == 3
    assert both.example() == {"unread": ("high", "low")}
    again = pickle.loads(pickle.dumps(both))
    assert (str(again), again.parts) == (str(both), both.parts)
    nowhere = UnsettledColumn(
        "c", (), "there is no such column", (SettlingOption("confidence", Blank("NAME"), ""),)
    )
    assert UnsettledTable([words, nowhere], source="a").example() == {}
    assert isinstance(both, DataError)
    other = UnsettledTable(
        [UnsettledColumn("c", (ColumnValue("x", 1, 2, "b.csv"),), "y", ())], source="a and 1 more"
    )
    assert str(other).startswith("b.csv, row 2, ")


def test_columns_by_their_name_or_another_spelling():
    names = ["Confidence ", "scores.thumbs_up", "a.x", "b.x"]
    assert find_column("confidence", names) == "Confidence "
    assert find_column("Thumbs Up", names) == "scores.thumbs_up"
    assert find_column("x", names) == ("a.x", "b.x")
    assert find_column("nope", names) == ()
    several = no_column("x", names, parameter="confidence")
    assert several.words() == (
        "several columns may be meant. Fix: pass `confidence='a.x'`, or `confidence='b.x'`."
    )
    assert "and 5 more" in listed([str(i) for i in range(25)])


# --- bytes and dialects ---


def test_bytes_that_are_no_text():
    with pytest.raises(ValueError, match="no text"):
        decode(b"\x00\x01\x02\x00")
    with pytest.raises(ValueError, match="begins as utf-16"):
        decode(b"\xff\xfea")
    assert decode("über;é".encode("cp1252")) == ("über;é", "Windows-1252")
    assert decode(b"\x81\xe9").encoding == "Latin-1"
    assert decode("a;b".encode("utf-16-be")) == ("a;b", "UTF-16-BE")
    assert decode("a;b".encode("utf-16-le")) == ("a;b", "UTF-16")


def test_separators_go_by_the_head_and_the_wanted_columns():
    assert delimited("confidence;up\n0,85;yes\n").separator == ";"
    assert delimited("a,b;c\n1,2;3\n", ["c"]).separator == ";"
    assert delimited("a,b\n1;2;3,4\n").separator == ","
    assert delimited("sep=;\r\na;b\r\n1;2\r\n") == ("a;b\r\n1;2\r\n", ";")
    assert delimited("a\tb\r1\t2\r").head == ["a", "b"]
    assert delimited("").head == []
    assert delimited("a;b\n" + "x;y\n" * 300_000).separator == ";"
    assert delimited("a;b\n" + f"x;{'y' * 999_990}\n" * 2 + "1;2\n").head == ["a", "b"]


def test_rows_that_do_not_fit():
    table = DelimitedText("conf,up\n0,85,yes\n1,no\n\nx\n", ",")
    assert uneven(table) == [UnevenRows(3, 1, 1), UnevenRows(1, 1, 3)]
    assert joined(table, 0) == [["0,85", "yes"], ["1", "no"], ["x"]]


# --- JSON, exports, logs ---


def test_json_in_every_layout():
    rows = [{"c": 0.5, "g": "up"}, {"c": 0.25, "g": "down"}]
    columns = {"c": {"0": 0.5, "1": 0.25}, "g": {"0": "up", "1": "down"}}
    for value in (
        rows,
        columns,
        {"columns": ["c", "g"], "data": [[0.5, "up"], [0.25, "down"]]},
        {"schema": {}, "data": rows},
        {"c": [0.5, 0.25], "g": ["up", "down"]},
        {"0": rows[0], "1": rows[1]},
        {"answers": rows, "version": 1},
    ):
        assert shape_json(value).rows == rows, value
    assert shape_json({"a": {"b": {"c": 1}}, "l": [1]}).rows == [{"a.b.c": 1, "l": [1]}]
    assert shape_json({"x": {"a": 1}, "y": {"b": 2}}).rows == [{"x.a": 1, "y.b": 2}]
    assert shape_json({"x": [1], "y": [1, 2]}).rows == [{"x": [1], "y": [1, 2]}]
    for value, why in (
        ([1], "other things"),
        (7, "int"),
        ({"a": rows, "b": rows}, "several lists"),
    ):
        with pytest.raises(ValueError, match=why):
            shape_json(value)


def test_exports_are_known_by_their_fields():
    for value in (
        [{"a": 1}],
        {"results": {"results": [{"success": True}]}},
        {"eval": {}, "samples": []},
        7,
    ):
        assert shape_export(value) is None
    assert shape_export({"testCases": [{"success": True}]}) is None
    score = {"id": "s", "name": "thumbs", "value": "up", "dataType": "CATEGORICAL", "source": "API"}
    twice = [
        {**score, "traceId": "t", "timestamp": "1"},
        {**score, "traceId": "t", "timestamp": "2", "value": "down"},
    ]
    shaped = shape_export({"data": twice})
    assert shaped.rows == [{"trace": "t", "thumbs": "down"}]
    assert "of 1 given again the latest" in shaped.said
    assert shape_export([score]).rows == [{"trace": "s", "thumbs": "up"}]
    trace = {
        "id": "t",
        "timestamp": "1",
        "scores": {"up": 1},
        "output": '{"confidence": 0.5}',
        "input": "q",
    }
    shaped = shape_export([trace, {**trace, "scores": None, "output": "{x"}])
    assert shaped.rows[0]["output.confidence"] == 0.5
    assert shaped.rows[0]["scores.up"] == 1
    assert shaped.rows[1]["output"] == "{x"
    assert shaped.names["question"] == "input"
    two = {"id": 1, "epoch": 1, "scores": {"a": {"value": 1}, "b": {"value": "P"}}, "input": []}
    shaped = shape_export({"eval": {}, "samples": [two]})
    assert shaped.rows[0]["scores.b"] == "P"
    assert "correct" not in shaped.names
    assert (
        shape_export({"results": [{"success": 1, "gradingResult": {}, "vars": {}}]}).rows[0][
            "output"
        ]
        is None
    )
    case = {"success": True, "metrics_data": [{"name": "m", "score": 1}], "input": "q"}
    assert shape_export({"test_results": [case]}).rows == [
        {"success": True, "input": "q", "metrics.m": 1}
    ]
    assert known_columns(["a"]) == ("", {})
    assert known_columns(["user_input", "response"])[0] == "ragas"


def test_logs_of_any_shape():
    lines = ['1 INFO {"c": {"d": 1}}', "{broken}", "", 'a=1 b="x \\"y\\""', "one=1", '[1] {"a"}']
    shaped = shape_log(lines)
    assert shaped.rows == [{"c.d": 1}, {"a": "1", "b": 'x "y"'}]
    assert "3 lines without a record" in shaped.said
    with pytest.raises(ValueError, match="no line"):
        shape_log(["nothing"])
