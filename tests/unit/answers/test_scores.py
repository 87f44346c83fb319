"""Scores from columns and from JSON inside cells: any number, and nothing guessed."""

import json

import polars as pl
import pytest

from novarag import Columns, read_answers
from novarag.answers.opening.arrays import known_rows
from novarag.errors import DataError, NovaragError, UsageError


def table(**columns):
    rows = len(next(iter(columns.values())))
    return pl.DataFrame({"correct": [True] * rows, **columns}, strict=False)


def scores_of(frame, *names):
    return known_rows(read_answers(frame, columns=Columns(scores=names))).scores


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        ([1200, -3, None], [1200.0, -3.0, None]),
        ([True, False, None], [1.0, 0.0, None]),
        (["0.5", " 61 % ", "N/A", ""], [0.5, 61.0, None, None]),
        ([float("nan"), 1e300, -1e300], [None, 1e300, -1e300]),
    ],
)
def test_a_column_of_any_numbers(cells, numbers):
    found = scores_of(table(judge=cells), "judge")
    assert [None if x != x else x for x in found.values[:, 0].tolist()] == numbers


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize(
    ("cell", "path", "number"),
    [
        ({"score": 0.7}, "metadata.score", 0.7),
        ({"a": {"b": {"c": 3}}}, "metadata.a.b.c", 3.0),
        (
            {"scores": [{"name": "x", "value": 1}, {"name": "y", "value": 9}]},
            "metadata.scores.y",
            9,
        ),
        ({"marks": [{"metric": "f", "score": 4}]}, "metadata.marks.f", 4.0),
        ({"list": [5, 6]}, "metadata.list.1", 6.0),
    ],
)
def test_a_path_into_a_cell(cell, path, number, as_text):
    cells = [json.dumps(cell) if as_text else cell] * 2
    assert scores_of(table(metadata=cells), path).values[:, 0].tolist() == [number] * 2


def test_a_cell_without_the_path_lacks_the_score():
    frame = table(metadata=['{"score": 1}', "no JSON", '{"other": 2}', None, "[1]"])
    values = scores_of(frame, "metadata.score").values[:, 0].tolist()
    assert values[0] == 1
    assert all(value != value for value in values[1:])


def test_a_score_that_is_a_word_is_refused_at_its_row():
    with pytest.raises(DataError, match=r"row 2, column 'judge': 'good' is not a number"):
        scores_of(table(judge=["1", "good"]), "judge")


def test_a_score_that_is_not_there_is_named_with_what_is():
    with pytest.raises(DataError, match=r"column 'hhem': there is no such score.*judge"):
        scores_of(table(judge=[1.0]), "hhem")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a", "a:lower"), "twice"),
        (tuple(f"s{i}" for i in range(21)), "20 at most"),
        ((":lower",), "names of columns"),
    ],
)
def test_scores_that_are_none_are_refused(names, said):
    with pytest.raises(UsageError, match=said):
        Columns(scores=names)


def test_scores_and_a_signal_are_one_thing():
    with pytest.raises(UsageError, match="signal"):
        Columns(scores=("a",), signal="b")


def test_directions_are_taken_and_said():
    frame = table(a=[1.0, 2.0], b=[3.0, None])
    read = read_answers(frame, columns=Columns(scores=("a:lower", "b")))
    assert known_rows(read).scores.lower == (True, None)
    said = "\n".join(read.taken)
    assert "score 'a': 1 to 2; lower is better, as was said" in said
    assert "score 'b': 3 to 3, 1 missing; its direction is to be found" in said


def test_a_stated_confidence_stands_beside_scores_where_there_is_one():
    alone = known_rows(read_answers(table(a=[1.0]), columns=Columns(scores=("a",))))
    assert not alone.states_confidence
    assert alone.read.all()
    frame = table(a=[1.0, 2.0], confidence=["80%", None])
    beside = known_rows(read_answers(frame, columns=Columns(scores=("a",))))
    assert beside.states_confidence
    assert beside.read.tolist() == [True, False]
    raw = table(confidence=[70.0, 3000.0])
    assert not known_rows(
        read_answers(raw, columns=Columns(scores=("confidence",)))
    ).states_confidence


def test_a_confidence_column_that_was_named_must_be_there():
    columns = Columns(confidence="conf", scores=("a",))
    with pytest.raises(NovaragError, match="conf"):
        read_answers(table(a=[1.0]), columns=columns)
