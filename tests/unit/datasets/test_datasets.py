import gzip
import json
from dataclasses import replace

import polars as pl
import pytest

from novarag import (
    AnswerForm,
    Columns,
    DataError,
    PassageKind,
    UnknownNameError,
    load_benchmark,
    load_groups,
    read_answers,
)
from novarag.answers.opening.open_table import read_table
from novarag.datasets import (
    load_originals,
    load_pool,
    parse_group,
    strict_kind,
)
from novarag.records import Passage, PassageGroup, Question
from novarag.strategies import Labels
from novarag.taxonomy import GroupKind

ROWS = [
    {"question": "q1", "confidence": 0.9, "correct": True},
    {"question": "q2", "confidence": None, "correct": False},
]


def write(tmp_path, rows, name="a.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(r) for r in rows) + "\n\n", encoding="utf-8")
    return path


def load(tmp_path, rows, **columns):
    return read_answers(write(tmp_path, rows), columns=Columns(**columns)).table


def problem(tmp_path, rows, **columns):
    with pytest.raises(DataError) as caught:
        load(tmp_path, rows, **columns)
    return caught.value


# --- files ---


def test_every_kind_of_file_gives_the_same_table(tmp_path):
    frame = pl.DataFrame(ROWS)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    text = write(tmp_path, ROWS).read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    for name in ("a.parquet", "a.jsonl", "a.jsonl.gz"):
        assert read_table(tmp_path / name).equals(frame), name
    for name in ("a.csv", "a.csv.gz"):
        assert read_table(tmp_path / name).equals(frame.cast(pl.String)), name
    for name in ("a.parquet", "a.jsonl", "a.csv"):
        table = read_answers(tmp_path / name).table
        assert table["confidence"].to_list() == [0.9, None]
        assert table["correct"].to_list() == [True, False]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", '{"a": 1}\nnot json', "row 2: this line is not JSON"),
        ("a.jsonl", "[1, 2]", "row 1: this line holds a list"),
        ("a.jsonl", '{"a": 1}\n{"a": ' + "[" * 9999, "row 2: .*nested more than 100 deep"),
        ("a.jsonl", '{"a": ' + "[" * 200 + "]" * 200 + "}", "row 1: .*nested more than 100 deep"),
        ("a.parquet", "", "cannot be read"),
        ("a.csv", "a,b,a\n1,2,3", "column 'a': 2 columns have this name"),
        ("a.jsonl", "", "has no rows"),
        ("a.parquet", "not parquet", "cannot be read"),
        ("a.csv", "", "cannot be read"),
        ("a.xlsx", "x", "cannot be read .it is no .xlsx"),
        ("a", "x", "has no rows"),
        ("a.csv", "x,y\n\0,1", "cannot be read .it holds bytes that are no text"),
        ("a.json", "[1]", "its list holds other things than objects"),
        ("a.json", '{"a": ', "this is no table in JSON"),
        ("a.log", "started", "no line holds a record"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, name, content, says):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        read_table(tmp_path / name)


def test_files_that_are_not_whole(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": "\xff"}')
    whole = gzip.compress(b'{"a": 1}\n' * 1000)
    (tmp_path / "b.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "c.jsonl.gz").write_bytes(b"plain")
    for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl.gz"):
        with pytest.raises(DataError, match="cannot be read"):
            read_table(tmp_path / name)
    with pytest.raises(DataError, match="folder"):
        read_table(tmp_path)


def test_numbers_that_no_column_holds_are_texts(tmp_path):
    rows = [{"a": 10**400, "b": 10**30, "c": 0.5}, {"a": 0.5, "b": 1, "c": 10**400}]
    frame = read_table(write(tmp_path, rows))
    assert frame["a"].to_list() == [str(10**400), "0.5"]
    assert frame["c"].to_list() == ["0.5", str(10**400)]
    assert [int(float(cell)) for cell in frame["b"]] == [int(1e30), 1]


def test_half_an_emoji_is_replaced(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": "x\\ud83d"}')
    assert read_table(tmp_path / "a.jsonl")["a"].to_list() == ["x?"]


def test_a_mark_of_byte_order_is_passed_over_in_every_file(tmp_path):
    mark = b"\xef\xbb\xbf"
    (tmp_path / "a.csv").write_bytes(mark + b"a,b,,\n1,2,,\n")  # as spreadsheets write it
    (tmp_path / "a.jsonl").write_bytes(mark + b'{"a": "1", "b": "2"}\n')
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(mark + b'{"a": "1", "b": "2"}\n'))
    for name in ("a.csv", "a.jsonl", "a.jsonl.gz"):
        assert read_table(tmp_path / name)["a"].to_list() == ["1"], name
    (tmp_path / "a.json").write_bytes(mark + b'{"question": "q", "passages": []}')
    assert load_groups(tmp_path / "a.json")[0].question.text == "q"


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "nope.csv")


def test_columns_that_mix_types_lose_nothing(tmp_path):
    rows = [{"a": 1, "b": True, "c": [1]}, {"a": 0.5, "b": "x"}, {"a": None, "b": None, "c": None}]
    frame = read_table(write(tmp_path, rows))
    assert frame["a"].to_list() == [1.0, 0.5, None]
    assert frame["b"].to_list() == ["true", "x", None]
    assert frame["c"].to_list() == [[1], None, None]


# --- answers ---


def test_answers_come_in_as_they_are(tmp_path):
    table = load(tmp_path, ROWS)
    assert table["confidence"].to_list() == [0.9, None]
    assert table["correct"].to_list() == [True, False]
    assert table["question"].to_list() == ["q1", "q2"]


def test_without_a_question_column_every_row_is_its_own(tmp_path):
    rows = [{"confidence": 0.5, "correct": 1}] * 2
    one, two = write(tmp_path, rows, "a.jsonl"), write(tmp_path, rows, "b.jsonl")
    found = read_answers([one, two])
    assert found.table["question"].n_unique() == 4
    assert found.rows_stand_alone
    assert not read_answers(ROWS).rows_stand_alone


def test_one_may_be_a_percent_or_all(tmp_path):
    rows = [{"confidence": 90, "correct": 1}, {"confidence": 1, "correct": 0}]
    assert load(tmp_path, rows, percent=True)["confidence"].to_list() == [0.9, 0.01]
    assert load(tmp_path, rows, values={"1": 1.0})["confidence"].to_list() == [0.9, 1.0]
    error = problem(tmp_path, rows)
    assert (error.row, error.column) == (2, "confidence")
    assert "`percent=True` for 1 %, or `values={'1': 1.0}` for 100 %" in error.hint


@pytest.mark.parametrize("right", ["true", "True", "1", "yes", 1, 1.0, True])
def test_ways_to_say_right(tmp_path, right):
    assert load(tmp_path, [{"confidence": 0.5, "correct": right}])["correct"].to_list() == [True]


def test_nan_and_marked_values_are_unread(tmp_path):
    rows = [{"confidence": float("nan"), "correct": 1}, {"confidence": -1.0, "correct": 1}]
    assert load(tmp_path, rows, unread=(-1.0,))["confidence"].to_list() == [None, None]


def test_cells_that_make_no_sense_are_named_with_a_hint(tmp_path):
    error = problem(tmp_path, [ROWS[0], {"confidence": -1, "correct": 1, "question": "q"}])
    assert (error.row, error.column) == (2, "confidence")
    assert "`unread=('-1',)`" in error.hint
    error = problem(
        tmp_path, [{"confidence": 0.5, "correct": 1}, {"confidence": "high", "correct": 1}]
    )
    assert (error.row, error.column) == (2, "confidence")
    assert "'high' is not a number" in str(error)
    for rows in ([0.5, True], [0.5, False, 0], [None, True]):  # no truth value is a confidence
        error = problem(tmp_path, [{"confidence": value, "correct": 1} for value in rows])
        assert (error.row, error.column) == (2, "confidence")
        assert "is not a number" in str(error)
    error = problem(tmp_path, [{"confidence": 0.5, "correct": "maybe"}])
    assert (error.row, error.column) == (1, "correct")
    error = problem(tmp_path, [ROWS[0], {"confidence": 0.5, "correct": True, "question": None}])
    assert (error.row, error.column) == (2, "question")
    error = problem(tmp_path, [{"confidense": 0.5, "correct": 1}])
    assert "did you mean 'confidense'" in str(error)
    assert "`confidence=NAME`" in error.hint
    error = problem(tmp_path, [{f"column {i}": 1 for i in range(30)}])
    assert "and 10 more" in error.hint
    assert problem(tmp_path, ROWS, question="qid").column == "qid"


def test_raw_replies_are_read_and_graded(tmp_path):
    rows = [
        {"reply": "Guess: Paris\nProbability: 0.9", "gold": ["Paris", "Paname"]},
        {"reply": "Guess: Lyon\nProbability: 0.2", "gold": ["Paris"]},
        {"reply": "Guess: I do not know\nProbability: 0.1", "gold": ["Paris"]},
        {"reply": "Guess: Paris", "gold": ["Paris"]},
        {"reply": None, "gold": ["Paris"]},
    ]
    path = write(tmp_path, rows)
    columns = Columns(reply="reply", gold="gold")
    table = read_answers(path, columns=columns, reader="guess-probability").table
    assert table["confidence"].to_list() == [0.9, 0.2, 0.1, None, None]
    assert table["correct"].to_list() == [True, False, False, True, None]
    assert table["abstained"].to_list() == [False, False, True, False, None]
    assert table["flaw"].to_list()[3:] == ["no confidence found", "the reply is empty"]


def test_gold_answers_in_every_shape(tmp_path):
    rows = [
        {"answer": "Paname", "gold": ["Paris", "Paname"], "confidence": 1},
        {"answer": "Paris", "gold": "Paris", "confidence": 1},
        {"answer": "yes", "gold": True, "confidence": 1},
        {"answer": "It is not true", "gold": True, "confidence": 1},
        {"answer": "1871", "gold": 1871, "confidence": 1},
        {"answer": "x", "gold": [], "confidence": 1},
    ]
    graded = load(tmp_path, rows, gold="gold")["correct"].to_list()
    assert graded == [True, True, True, False, True, None]
    assert (
        problem(tmp_path, [{"answer": "x", "gold": "['x']", "confidence": 1}], gold="gold").row == 1
    )


def test_replies_without_an_answer_still_state_a_confidence(tmp_path):
    path = write(tmp_path, [{"reply": "It is Paris.\nConfidence: 85%", "correct": 1}])
    columns = Columns(reply="reply")
    table = read_answers(path, columns=columns, reader=Labels()).table
    assert table["confidence"].to_list() == [0.85]
    assert read_answers(path, columns=columns).table.equals(table)


def test_columns_of_lists_and_files_that_do_not_fit(tmp_path):
    error = problem(tmp_path, [{"confidence": [0.9], "correct": 1}])
    assert "lists or objects" in str(error)
    one = write(tmp_path, [{**ROWS[0], "x": [1]}], "a.jsonl")
    two = write(tmp_path, [{**ROWS[0], "x": "a"}], "b.jsonl")
    with pytest.raises(DataError, match="do not fit together"):
        read_answers([one, two])


def test_percents_that_are_fractions_are_refused(tmp_path):
    error = problem(tmp_path, [{"confidence": 0.9, "correct": 1}], percent=True)
    assert "else leave `percent` out" in error.hint


def test_answers_are_graded_against_a_gold_column(tmp_path):
    rows = [
        {"answer": "yes!", "gold": "Yes", "confidence": 1},
        {"answer": None, "gold": "no", "confidence": 1},
    ]
    assert load(tmp_path, rows, gold="gold")["correct"].to_list() == [True, None]


# --- groups ---


def test_groups_from_every_shape(tmp_path):
    row = {
        "id": 7,
        "question": "Capital?",
        "answers": "Paris",
        "passages": ["a", {"text": "b", "kind": "gold"}],
    }
    for name in ("g.jsonl", "g.json"):
        (tmp_path / name).write_text(json.dumps(row), encoding="utf-8")
        [group] = load_groups(tmp_path / name)
        assert group.question == Question(id="7", text="Capital?", answers=("Paris",))
        assert group.passages == (Passage(text="a"), Passage(text="b", kind=PassageKind.GOLD))
    (tmp_path / "g.csv").write_text("question,answers,passage_1,passage_2\nIs it?,yes,a,\n")
    [group] = load_groups(tmp_path / "g.csv")
    assert group.question.form is AnswerForm.YES_NO
    assert group.question.id == "Is it?"
    assert group.passages == (Passage(text="a"),)


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({}, "question"),
        ({"question": " "}, "question"),
        ({"question": "q", "answers": {"a": 1}}, "answers"),
        ({"question": "q", "answers": "[not json]"}, "answers"),
        ({"question": "q", "passage": ["misspelt"]}, "passages"),
        ({"question": "q", "passages": [{"text": "b", "claim": 1918}]}, "passages[0].claim"),
        ({"question": "q", "form": "essay"}, "form"),
        ({"question": "q", "passages": "text"}, "passages"),
        ({"question": "q", "passages": [1]}, "passages[0]"),
        ({"question": "q", "passages": ["a", {"txt": "b"}]}, "passages[1]"),
        ({"question": "q", "passages": [{"text": "b", "kind": "noise"}]}, "passages[0].kind"),
        ({"question": "q", "passages": [{"text": "b", "kind": "gold", "facet": "theme"}]}, "passages[0].facet"),
        ({"question": "q", "passages": [{"text": "b", "provenance": "x"}]}, "passages[0].provenance"),
    ],
)  # fmt: skip
def test_a_wrong_cell_of_a_group_is_named(row, column):
    with pytest.raises(DataError) as caught:
        parse_group(row, source="g.jsonl", row_number=4)
    assert (caught.value.row, caught.value.column, caught.value.source) == (4, column, "g.jsonl")
    assert caught.value.hint


def test_passage_columns_go_by_number_and_years_are_answers(tmp_path):
    (tmp_path / "g.csv").write_text(
        "question,answers,passage_1,passage_10,passage_2\nWhen?,1871,a,c,b\n"
    )
    [group] = load_groups(tmp_path / "g.csv")
    assert [p.text for p in group.passages] == ["a", "b", "c"]
    assert group.question.answers == ("1871",)


@pytest.mark.parametrize("content", ["not json", "[]"])
def test_a_json_file_holds_one_object(tmp_path, content):
    (tmp_path / "g.json").write_text(content)
    with pytest.raises(DataError, match="JSON"):
        load_groups(tmp_path / "g.json")


# --- benchmark, without its files ---


def test_the_benchmark_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.delenv("NOVARAG_DATA")
    with pytest.raises(DataError, match="NOVARAG_DATA"):
        load_benchmark("nq")
    with pytest.raises(DataError, match="no such file"):
        load_benchmark("nq", data=tmp_path)
    for wrong in ({"name": "squad"}, {"name": "nq", "part": "train"}, {"name": "nq", "k": 4}):
        with pytest.raises(UnknownNameError):
            load_benchmark(**wrong, data=tmp_path)
    with pytest.raises(UnknownNameError):
        load_pool("nq", data=tmp_path)
    with pytest.raises(UnknownNameError):
        load_originals("nq", part="train", data=tmp_path)


@pytest.mark.parametrize(
    ("kind", "flags", "strict"),
    [
        ("gold", (), GroupKind.CONSISTENT),
        ("gold", ("placeholder_text",), GroupKind.IRRELEVANT),
        ("counterfactual", (), GroupKind.COUNTERFACTUAL),
        ("counterfactual", ("cf_answer_equals_gold",), GroupKind.CONSISTENT),
        ("irrelevant", ("noise_contains_answer",), GroupKind.CONSISTENT),
        ("relevant", ("noise_contains_alias",), GroupKind.IRRELEVANT),
    ],
)
def test_strict_kind_goes_by_what_passages_say(kind, flags, strict):
    passage = Passage(text="x", kind=PassageKind(kind), flags=flags)
    group = PassageGroup(question=Question(id="q", text="?"), passages=(passage,))
    assert strict_kind(group) is strict
    unlabelled = replace(group, passages=(passage, Passage(text="y")))
    assert strict_kind(unlabelled) is None
