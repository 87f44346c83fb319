"""The folder of an export: whole or not at all, and never over somebody's files."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from novarag.atomic import whole_folder
from novarag.errors import StorageError, UsageError
from novarag.runs.group_table import read_groups
from novarag.sft.export_folder import write_file
from novarag.sft.exporting import ExportOptions, export
from novarag.sft.filtered_trials import read_filtered
from tests.support.filtered_folder import contents, make_rows, write_filtered


@pytest.fixture
def filtered(tmp_path):
    return write_filtered(tmp_path / "filtered", make_rows())


def read(folder):
    return read_filtered(folder, read_groups=read_groups)


def test_only_an_export_is_replaced(filtered, tmp_path):
    source, out = read(filtered), tmp_path / "out"
    out.mkdir()
    export(source, out, ExportOptions())  # an empty folder is free
    export(source, out, ExportOptions(formats=["canonical"], dev=0))
    assert set(contents(out)) == {"README.md", "card.json", "rejected.jsonl", "train.jsonl"}
    (out / "notes.txt").write_text("mine")
    before = contents(out)
    with pytest.raises(UsageError, match=r"'notes\.txt', which is no part of an export"):
        export(source, out, ExportOptions())
    assert contents(out) == before
    with pytest.raises(UsageError, match="no part of an export"):
        export(source, filtered, ExportOptions())
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="not a folder"):
        export(source, tmp_path / "file", ExportOptions())
    with pytest.raises(UsageError, match="name a folder"):
        export(source, Path("/"), ExportOptions())
    (tmp_path / "link").symlink_to(out)
    with pytest.raises(UsageError, match="not a folder"):
        export(source, tmp_path / "link", ExportOptions())
    card = (out / "card.json").read_text()
    (out / "notes.txt").unlink()
    (out / "card.json").write_text(card.replace("novarag export", "someone else"))
    with pytest.raises(UsageError, match="no part of an export"):
        export(source, out, ExportOptions())


def test_a_place_that_is_not_free_is_refused_before_any_work(filtered):
    source = read(filtered)
    with pytest.raises(UsageError, match="no part of an export"):
        export(replace(source, groups={}), filtered, ExportOptions())


def test_a_failure_midway_leaves_what_was_there(filtered, tmp_path, monkeypatch):
    source, out = read(filtered), tmp_path / "out"
    export(source, out, ExportOptions())
    before = contents(out)
    calls = []

    def fail(folder, name, chunks):
        calls.append(name)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return real(folder, name, chunks)

    real = write_file
    monkeypatch.setattr("novarag.sft.exporting.write_file", fail)
    with pytest.raises(StorageError, match="No space left"):
        export(source, out, ExportOptions(dev=0.5))
    assert contents(out) == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_kill_between_the_two_renames_loses_nothing(filtered, tmp_path):
    out = tmp_path / "out"
    export(read(filtered), out, ExportOptions())
    before = contents(out)
    dead = 2**22 + 1  # above the largest process number
    out.rename(tmp_path / f".out.{dead}.old")
    (tmp_path / f".out.{dead}.draft").mkdir()
    mine = tmp_path / f".out.{os.getppid()}.draft"  # of a process that lives
    (tmp_path / f".out.{2**80}.draft").mkdir()  # of no process at all
    (tmp_path / f".out.{dead}.other").mkdir()
    mine.mkdir()
    (tmp_path / ".out.notes.old").mkdir()
    with pytest.raises(ZeroDivisionError), whole_folder(out, lambda _: None):
        _ = 1 / 0
    assert contents(out) == before
    left = {p.name for p in tmp_path.iterdir() if p.name.startswith(".")}
    assert left == {mine.name, ".out.notes.old", f".out.{dead}.other"}


def test_when_the_last_rename_fails_the_old_export_comes_back(filtered, tmp_path, monkeypatch):
    out = tmp_path / "out"
    source = read(filtered)
    export(source, out, ExportOptions())
    before = contents(out)
    real = Path.rename

    def rename(self, target):
        if self.name.endswith(".draft"):
            raise OSError(5, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(StorageError, match="Input/output error"):
        export(source, out, ExportOptions(formats=["openai"]))
    assert contents(out) == before
