"""Small files that claim to be large are refused before anything of that size is made (M8)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from novarag import DataError
from novarag.answers.opening import archives
from novarag.answers.opening.open_table import open_table, read_table
from tests.support.least import least
from tests.support.workbooks import cell, sheet, table, write_workbook

pytest.importorskip("python_calamine")

CPU, MEMORY = 2.0, 300  # seconds, megabytes
_READ = """
import json, resource, sys, time
from pathlib import Path
# A reader that is not bounded must not take the machine with it.
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
import novarag.cli, polars, python_calamine
from novarag import DataError
from novarag.config.tables import read_toml
from novarag.answers.opening.open_table import open_table
path = Path(sys.argv[1])
began, said = time.process_time(), None
try:
    read_toml(path, []) if path.suffix == ".toml" else open_table(path, ["confidence", "correct"])
except DataError as error:
    said = str(error)
took = time.process_time() - began
# `ru_maxrss` would begin with the memory of the test's own process, which a child inherits.
[line] = [one for one in open("/proc/self/status") if one.startswith("VmHWM")]
peak = int(line.split()[1]) / 1024
print(json.dumps([said, took, peak]))
"""
HEAD = [["confidence", "correct"], ["0.5", "yes"]]


def wide_csv(path, columns=300_000):
    path.write_text(f"{','.join(f'c{i}' for i in range(columns))}\n{','.join('1' * columns)}\n")


def wide_json(path, columns=300_000):
    path.write_text(json.dumps({f"c{i}": 1 for i in range(columns)}) + "\n")


FILES = {
    "far.xlsx": lambda p: write_workbook(p, sheet(cell("A1"), cell("XFD1048576"))),
    "tall.xlsx": lambda p: write_workbook(p, sheet(cell("A1"), cell("GR1048576"))),
    "columns.csv": wide_csv,
    "columns.jsonl": wide_json,
    "key.toml": lambda p: p.write_text(".".join("a" * 50_000) + " = 1\n"),
    "table.toml": lambda p: p.write_text(f"[{'.'.join('a' * 50_000)}]\n"),
}
SAID = {
    ".xlsx": "a sheet spans 1,048,576 rows and ",
    ".csv": "the table has over 16,384 columns",
    ".jsonl": "the table has over 16,384 columns",
    ".toml": "a key of more than 100 parts",
}


@pytest.mark.parametrize("name", FILES)
def test_m8_a_small_file_of_a_large_table_is_refused_at_once(tmp_path, name):
    FILES[name](tmp_path / name)

    def read():
        done = subprocess.run(
            [sys.executable, "-c", _READ, str(tmp_path / name)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-500:]
        said, took, peak = json.loads(done.stdout)
        assert SAID[Path(name).suffix] in said
        assert peak < MEMORY
        return took

    assert least(read, CPU) < CPU


def rows_of(path):
    return open_table(path).frame.rows()


def test_m8_what_is_empty_far_away_does_not_count(tmp_path):
    styled = '<row r="1048576"><c r="XFD1048576" s="1"/></row>'
    path = write_workbook(tmp_path / "a.xlsx", sheet(*table(HEAD), styled))
    assert rows_of(path) == [("0.5", "yes")]


def test_m8_a_sheet_may_be_as_empty_as_a_small_one_is(tmp_path, monkeypatch):
    path = write_workbook(tmp_path / "a.xlsx", sheet(*table(HEAD), cell("B90000", "no")))
    assert rows_of(path) == [("0.5", "yes"), (None, "no")]
    monkeypatch.setattr(archives, "_SMALL", 100)
    with pytest.raises(DataError, match="90,000 rows and 2 columns, and 5 of their cells are"):
        rows_of(path)


SPELLINGS = {
    "no place of its own": '<row r="1048576">{}</row>'.format(
        "".join(f"<c><v>{n}</v></c>" for n in range(40))
    ),
    "a prefix": '<x:row xmlns:x="u" r="1048576"><x:c r="XFD1048576"><x:v>1</x:v></x:c></x:row>',
    "an attribute before": '<row r="9"><c s=">" r=\'XFD1048576\'><v>1</v></c></row>',
    "an escape": '<row r="9"><c r="&#88;FD1048576"><v>1</v></c></row>',
    "a place alone": '<c r="XFD1048576"><v>1</v></c>',
    "no row of a sheet": '<row r="9"><c r="A4294967295"><v>1</v></c></row>',
    "small letters": '<row r="9"><c r="xfd1048576"><v>1</v></c></row>',
}


@pytest.mark.parametrize("spelt", SPELLINGS)
def test_m8_a_far_cell_is_found_however_it_is_spelt(tmp_path, spelt):
    with pytest.raises(DataError, match="a sheet spans"):
        rows_of(write_workbook(tmp_path / "a.xlsx", sheet(cell("A1"), SPELLINGS[spelt])))


ODD = {
    "no XML": "<worksheet><sheetData><row>",
    "a document type": f"<!DOCTYPE x [<!ENTITY a 'b'>]>{sheet(cell('A1'))}",
    "no place": sheet('<row r="1"><c r="$A$1"><v>1</v></c></row>'),
}


@pytest.mark.parametrize("odd", ODD)
def test_m8_a_sheet_that_cannot_be_walked_is_not_loaded(tmp_path, odd):
    with pytest.raises(DataError, match="cannot be read"):
        rows_of(write_workbook(tmp_path / "a.xlsx", ODD[odd]))


def test_m8_the_reader_of_workbooks_is_given_nothing_else(tmp_path):
    """Parts of other formats, which it would open instead, are left out."""
    path = write_workbook(
        tmp_path / "a.xlsx", sheet(*table(HEAD)), parts={"xl/workbook.bin": "x", "mimetype": "y"}
    )
    assert rows_of(path) == [("0.5", "yes")]
    twice = write_workbook(tmp_path / "b.xlsx", sheet(*table(HEAD)), parts={"XL/workbook.xml": ""})
    with pytest.raises(DataError, match="a part of it is there twice"):
        rows_of(twice)


def test_m8_one_part_under_many_names_counts_as_often(tmp_path, monkeypatch):
    path = write_workbook(tmp_path / "a.xlsx", sheet(*table(HEAD)), shared=50)
    monkeypatch.setattr("novarag.answers.opening.archives.MOST_CELLS", 100)
    with pytest.raises(DataError, match="its sheets span over 100 cells"):
        rows_of(path)


def test_m8_a_full_sheet_is_read_to_its_bound(tmp_path, monkeypatch):
    full = [["a", "b"], *[["1", "2"]] * 30]
    path = write_workbook(tmp_path / "a.xlsx", sheet(*table(full)))
    assert len(rows_of(path)) == 30
    monkeypatch.setattr(archives, "MOST_CELLS", 40)
    with pytest.raises(DataError, match="over 40 cells"):
        rows_of(path)


def test_m8_as_many_columns_as_a_spreadsheet_has_are_read(tmp_path):
    for name, write in (("a.csv", wide_csv), ("a.jsonl", wide_json)):
        write(tmp_path / name, 16_384)
        assert read_table(tmp_path / name).width == 16_384
        write(tmp_path / name, 16_385)
        with pytest.raises(DataError, match="over 16,384 columns"):
            read_table(tmp_path / name)


def test_m8_a_first_row_that_does_not_end_is_named(tmp_path):
    (tmp_path / "a.csv").write_text(f'confidence,"correct\n{"0.5,yes" * 200_000}\n')
    with pytest.raises(DataError, match="its first row is over a million characters"):
        read_table(tmp_path / "a.csv")


def test_a_line_that_says_two_things_is_refused(tmp_path):
    lines = ['{"confidence": 0.9, "correct": true}', '{"confidence": 0.1, "confidence": 0.9}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"row 2.*the key 'confidence' stands twice"):
        read_table(tmp_path / "a.jsonl")
    (tmp_path / "a.json").write_text(f"[{','.join(lines)}]")
    with pytest.raises(DataError, match="the key 'confidence' stands twice"):
        read_table(tmp_path / "a.json")
