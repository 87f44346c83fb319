"""Files, folders and streams as tables, and tables that are decided together."""

import gzip
import io
import json
import sys
from zipfile import ZipFile

import polars as pl
import pytest

from novarag import Columns, DataError, UsageError, measure, read_answers
from novarag.answers.cells.unsettled import UnsettledTable
from novarag.answers.opening import archives, open_table
from novarag.answers.opening.files import make_column
from novarag.answers.opening.open_table import folder_tables, read_table


def stream(text, encoding="utf-8"):
    return io.BytesIO(text.encode(encoding))


def test_a_stream_is_known_by_its_bytes():
    frame = pl.DataFrame({"confidence": ["85%"], "correct": ["up"]})
    parquet, packed = io.BytesIO(), gzip.compress(frame.write_csv().encode())
    frame.write_parquet(parquet)
    for content in (
        frame.write_csv().encode(), frame.write_csv(separator=";").encode("utf-16"), packed,
        frame.write_ndjson().encode(), frame.write_json().encode(), parquet.getvalue(),
        b"x confidence=85% correct=up", b"\n\n" + frame.write_csv().encode(),
    ):  # fmt: skip
        table = read_answers(io.BytesIO(content)).table
        assert table.select("confidence", "correct").rows() == [(0.85, True)], content
        assert table["question"].to_list() == ["standard input, row 1"]


def test_one_scale_holds_for_all_files_of_a_folder(tmp_path):
    (tmp_path / "a.csv").write_text("confidence,correct\n85,up\n3,down\n")
    (tmp_path / "b.csv").write_text("confidence,correct\n1,up\n0,down\n")
    (tmp_path / ".hidden.csv").write_text("x\n")
    (tmp_path / "notes.md").write_text("x\n")
    assert [p.rpartition("/")[2] for p in folder_tables(tmp_path)] == ["a.csv", "b.csv"]
    found = measure(tmp_path, replicates=100)
    assert found.sources == (tmp_path.name,)
    table = read_answers(folder_tables(tmp_path)).table
    assert table["confidence"].to_list() == [0.85, 0.03, 0.01, 0.0]
    (tmp_path / "b.csv").write_text("confidence,correct\n0.5,up\n")
    with pytest.raises(
        UnsettledTable, match=r"b.csv, row 1, column 'confidence': 0.5 beside 2 rows over 1"
    ):
        measure(tmp_path, replicates=100)
    with pytest.raises(DataError, match="folder without tables"):
        folder_tables(tmp_path / "..").clear() or folder_tables(_empty(tmp_path))


def _empty(tmp_path):
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def test_all_that_is_open_is_told_at_once(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("confidence,thumbs,question\nhigh,up,q\n0.5,meh,\n-1,down,q\n")
    with pytest.raises(UnsettledTable) as caught:
        read_answers(path, columns=Columns(correct="thumbs"))
    assert len(caught.value.parts) == 4
    said = Columns(correct="thumbs", unread=("*",), ungraded=("meh",))
    with pytest.raises(UnsettledTable, match="row 2, column 'question': the question is empty"):
        read_answers(path, columns=said)
    with pytest.raises(UnsettledTable, match="2 things"):
        read_answers(path, columns=Columns(confidence="x", correct="y", question="thumbs"))
    path.write_text("confidence,thumbs\n0,85,up\n0,9,down\n")
    with pytest.raises(
        UnsettledTable, match=r"'3 cells' \(2 rows\) where the head has 2.*decimal_comma"
    ):
        read_answers(path, columns=Columns(correct="thumbs"))
    table = read_answers(path, columns=Columns(correct="thumbs", decimal_comma=True)).table
    assert table["confidence"].to_list() == [0.85, 0.9]
    path.write_text("confidence,thumbs\n0,85,up,x,y\n0,9\n")
    with pytest.raises(UnsettledTable, match="5 cells"):
        read_answers(path, columns=Columns(correct="thumbs", decimal_comma=True))


@pytest.mark.parametrize(
    "wrong",
    [{"percent": True, "mixed": True}, {"out_of": 0}, {"values": {"high": 90}}],
)
def test_settings_that_contradict_are_refused(wrong):
    with pytest.raises(UsageError):
        Columns(**wrong)


def test_many_different_numbers_are_looked_at_by_kind():
    cells = [i / 5000 for i in range(5001)] + [85.0, -1.0]
    frame = pl.DataFrame({"confidence": cells, "correct": [True] * len(cells)})
    with pytest.raises(UnsettledTable) as caught:
        read_answers(frame)
    assert [part.rows for part in caught.value.parts] == [4999, 1, 1]
    assert "4,991 more (4,991 rows)" in str(caught.value)
    table = read_answers(frame, columns=Columns(mixed=True, values={"1": 1.0}, unread=(-1,))).table
    assert table["confidence"].to_list() == [*cells[:-2], 0.85, None]


def test_frames_with_raw_cells_are_read_as_files_are():
    frame = pl.DataFrame({"confidence": ["85%", "7%"] * 40, "correct": ["up", "down"] * 40})
    assert measure(frame, replicates=100).overall.figures["accuracy"].value == 0.5


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(open_table, "LARGEST", 10)
    (tmp_path / "a.csv").write_text("confidence,correct\n")
    with pytest.raises(DataError, match="over 0 GB"):
        read_table(tmp_path / "a.csv")
    monkeypatch.undo()
    (tmp_path / "b.csv.gz").write_bytes(b"plain")
    with pytest.raises(DataError, match="not compressed"):
        read_table(tmp_path / "b.csv.gz")
    (tmp_path / "c.json").write_text('{"a": 1}\n{"a": 2}\n')
    assert read_table(tmp_path / "c.json")["a"].to_list() == [1, 2]
    (tmp_path / "d.csv").write_text("a,b,c\n1,2,\n1\n")
    assert "1 rows end early" in open_table.open_table(tmp_path / "d.csv").said


def archive(path, parts):
    with ZipFile(path, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return path


def test_archives_that_hold_no_table(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="holds no table"):
        read_table(archive(tmp_path / "a.xlsx", {"x": ""}))
    formula = '<sheetData><row><c r="A1"><f>B1/100</f><v></v></c></row></sheetData>'
    with pytest.raises(DataError, match="formulas stand in it without their results"):
        read_table(archive(tmp_path / "b.xlsx", {"xl/worksheets/sheet1.xml": formula}))
    with pytest.raises(DataError, match="cannot be read"):
        read_table(archive(tmp_path / "c.xlsx", {"xl/x": ""}))
    (tmp_path / "d.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "d.xlsx")
    monkeypatch.setattr(archives, "LARGEST", 1)
    with pytest.raises(DataError, match="over a gigabyte"):
        read_table(archive(tmp_path / "e.xlsx", {"xl/x": "xx"}))
    monkeypatch.undo()
    sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": "C", "metadata": {"confidence": 0.5}}}}
    log = archive(tmp_path / "f.eval", {"samples/1_epoch_1.json": json.dumps(sample)})
    assert read_answers(log).table["correct"].to_list() == [True]
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(UsageError, match=r"\.\[excel\]"):
        read_table("tests/gauntlet/openpyxl.xlsx")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"needs pyarrow.*convert"):
        read_table("tests/gauntlet/inspect_log.eval")


class Sheet:
    def __init__(self, rows):
        self.rows = rows

    def to_python(self):
        return self.rows


def test_sheets_go_by_the_wanted_columns(monkeypatch):
    head = ["confidence", "correct", ""]
    sheets = {"Notes": [["x"]], "A": [head, [0.5, True, ""], ["", "", ""]], "B": [["z"], [1.0]]}

    class Book:
        @property
        def sheet_names(self):
            return list(sheets)

        def get_sheet_by_name(self, name):
            return Sheet(sheets[name])

    calamine = pytest.importorskip("python_calamine")
    monkeypatch.setattr(calamine, "load_workbook", lambda _: Book())
    content = b"x"
    found = archives._workbook(content, "a.xlsx", ["confidence", "correct"])
    assert found.frame.rows() == [(0.5, True, None)]
    assert found.said == "Excel, sheet 'A' of 3"
    with pytest.raises(DataError, match="several sheets may be meant"):
        archives._workbook(content, "a.xlsx", [])
    sheets["A"][0][2] = "confidence"
    with pytest.raises(DataError, match="2 columns have this name"):
        archives._workbook(content, "a.xlsx", ["confidence"])
    sheets.clear()
    with pytest.raises(DataError, match="no sheet has rows"):
        archives._workbook(content, "a.xlsx", [])


@pytest.mark.parametrize(
    "values",
    [
        [[{"judgment": None}], [{"judgment": "relevant"}]],
        [[{"judgment": "relevant"}], [{"judgment": None, "id": 7}], None, []],
        [[1], [2.5]],
        [{"a": None}, {"b": [1]}],
        [[{"a": 1}], [{"a": "x"}]],
        [[{"a": 1}], ["x"]],
        [[float("nan")], [1.0]],
    ],
)
def test_what_lists_hold_is_not_lost_after_a_first_one_with_gaps(values):
    made = make_column("x", values).to_list()
    read = [json.loads(v) if isinstance(v, str) else v for v in made]
    for found, given in zip(read, values, strict=True):
        for one, other in zip(as_list(found), as_list(given), strict=True):
            if isinstance(other, dict):
                assert {k: v for k, v in one.items() if v is not None} == {
                    k: v for k, v in other.items() if v is not None
                }
            else:
                assert one == pytest.approx(other, nan_ok=True)


def as_list(value):
    return value if isinstance(value, list) else [] if value is None else [value]
