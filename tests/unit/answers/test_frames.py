"""Tables as people have them, in and out."""

import math

import numpy as np
import polars as pl
import pytest

from novarag import Columns, DataError, UsageError, figures_frame, measure, read_answers
from novarag.answers.opening.answers import as_frame


def take(table, **columns):
    return read_answers(table, columns=Columns(**columns)).table


ROWS = [
    {
        "question": f"q{i % 30}",
        "confidence": i % 11 / 10,
        "correct": i % 3 != 0,
        "model": "ab"[i % 2],
    }
    for i in range(120)
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
PLAIN = pl.DataFrame(COLUMNS)


class Streamed:
    """Any library's table: it can do no more than hand out an Arrow stream."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self.frame.__arrow_c_stream__(requested_schema)


class Walked:
    """A Hugging Face dataset, as far as we look at it."""

    def to_polars(self):
        return PLAIN


class WithoutArrow:
    """A pandas frame where pyarrow is not installed."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise ImportError("pyarrow is required")

    def reset_index(self):
        return self

    def to_dict(self, orient):
        assert orient == "list"
        return {**COLUMNS, "correct": [math.nan, *COLUMNS["correct"][1:]]}


@pytest.mark.parametrize(
    "table",
    [PLAIN, PLAIN.lazy(), Streamed(PLAIN), Walked(), COLUMNS, ROWS, tuple(ROWS), iter(ROWS)],
    ids=lambda t: type(t).__name__,
)
def test_every_kind_of_table_gives_the_same_frame(table):
    assert take(table).select(PLAIN.columns).equals(PLAIN)


def test_a_table_without_arrow_is_taken_column_by_column():
    found = take(WithoutArrow())
    assert found["correct"][0] is None
    assert found["correct"][1:].equals(PLAIN["correct"][1:])


def test_columns_are_named_by_the_caller_and_units_checked():
    theirs = [{"qid": i // 2, "p": 10 * (i % 10), "ok": i % 2} for i in range(60)]
    found = take(theirs, confidence="p", correct="ok", question="qid", percent=True)
    assert found["question"].to_list()[:3] == ["0", "0", "1"]
    assert found["confidence"].to_list()[:3] == [0.0, 0.1, 0.2]
    assert found["correct"].to_list()[:3] == [False, True, False]
    alone = take([{"confidence": 0.5, "correct": True}] * 2)
    assert alone["question"].n_unique() == 2


def test_empty_cells_are_unread_or_ungraded():
    class NAType:
        pass

    rows = [
        {"confidence": math.nan, "correct": True},
        {"confidence": 0.5, "correct": np.float64("nan")},
        {"confidence": -1, "correct": NAType()},
        {"confidence": None, "correct": None},
        {"confidence": np.float64(0.25), "correct": np.True_},
    ]
    found = take(rows, unread=(-1,))
    assert found["confidence"].to_list() == [None, 0.5, None, None, 0.25]
    assert found["correct"].to_list() == [True, None, None, None, True]
    floats = pl.DataFrame({"confidence": [0.5, math.nan], "correct": [1.0, math.nan]})
    assert take(floats)["correct"].to_list() == [True, None]


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([{"confidence": 8, "correct": 1}], {}, "pass `out_of=10`, or `percent=True` if"),
        ([{"confidence": 0.85, "correct": 1}], {"percent": True}, "else leave `percent` out"),
        ([{"confidence": 336, "correct": 1}], {}, r"or `unread=\('336',\)` if"),
        ([{"confidense": 0.5, "correct": 1}], {}, "did you mean 'confidense'.*pass `confidence=NAME`"),
        ([{"confidence": "sure", "correct": 1}], {}, r"row 1, column 'confidence'.*`values=\{'sure': SHARE\}`"),
        ([{"confidence": 0.5, "correct": "maybe"}], {}, "neither right nor wrong"),
        ([{"confidence": 0.5, "correct": 1}], {"question": "id"}, "pass `question=NAME`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_cell_is_said_in_python(rows, options, said):
    with pytest.raises(DataError, match=said) as caught:
        take(rows, **options)
    assert str(caught.value).startswith("the table, ")
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("data", [7, "rows", [1, 2], [("confidence", 0.5)], None])
def test_what_is_no_table_is_refused(data):
    with pytest.raises(UsageError, match="pandas or polars frame"):
        as_frame(data)


def test_several_tables_are_not_one():
    with pytest.raises(UsageError, match=r"several tables \(train, test\)"):
        as_frame({"train": Walked(), "test": Walked()})
    with pytest.raises(UsageError, match="no rows"):
        as_frame([])


def test_figures_as_a_frame():
    few = [{**row, "model": "few"} for row in ROWS[:4]]
    found = measure(take([*ROWS, *few]), by="model", replicates=200)
    frame = figures_frame(found)
    assert frame.columns == ["group", "metric", "value", "low", "high", "n", "refusal"]
    assert frame["group"].unique(maintain_order=True).to_list() == [
        "all", "a", "b", "few", "macro average",
    ]  # fmt: skip
    for panel in (found.overall, *found.groups):
        for name, figure in panel.figures.items():
            row = frame.row(
                by_predicate=(pl.col("group") == panel.name) & (pl.col("metric") == name)
            )
            assert row[2:6] == (figure.value, figure.low, figure.high, figure.n)
    refused = frame.filter(group="few")
    assert refused.height == 1
    assert refused["metric"].to_list() == [None]
    assert "fewer than the 50" in refused["refusal"][0]
    assert frame.filter(group="macro average", metric="ece")["value"][0] == found.macro["ece"].value
    assert frame.filter(pl.col("refusal").is_null())["metric"].null_count() == 0


def test_what_an_error_asks_for_can_be_said():
    table = [{"confidence": 0.9, "correct": "up"}, {"confidence": 95, "correct": "meh"}]
    taken = take(table, mixed=True, right=("up",))
    assert taken["confidence"].to_list() == [0.9, 0.95]
    assert taken["correct"].to_list() == [True, False]
