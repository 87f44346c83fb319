"""Files and folders are there whole or not at all, whoever is killed, and whatever fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from novarag.atomic import drafts_of, whole_file, whole_folder, write_whole
from novarag.errors import StorageError

DEAD = 2**22 + 1  # above the largest process number


def hidden(folder):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("."))


def test_a_link_to_itself_is_no_place(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="Too many levels"):
        write_whole(tmp_path / "loop", b"new")
    assert (tmp_path / "loop").is_symlink()


def test_a_file_is_replaced_once_all_of_it_is_written(tmp_path):
    place = tmp_path / "a.txt"
    place.write_bytes(b"old")
    with whole_file(place) as file:
        file.write(b"new")
        assert place.read_bytes() == b"old"
        assert drafts_of(place) == [tmp_path / f".a.txt.{os.getpid()}.draft"]
    assert place.read_bytes() == b"new"
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("raised", [ZeroDivisionError, KeyboardInterrupt])
def test_a_writer_that_fails_leaves_what_was_there(tmp_path, raised):
    place = tmp_path / "a.txt"
    place.write_bytes(b"old")

    def fail():
        with whole_file(place) as file:
            file.write(b"half")
            raise raised

    with pytest.raises(raised):
        fail()
    assert place.read_bytes() == b"old"
    assert hidden(tmp_path) == []


def test_file_then_name_then_folder_are_synced(tmp_path, monkeypatch):
    done, real, real_replace = [], os.fsync, Path.replace

    def fsync(handle):
        done.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real(handle)

    def replace(self, target):
        done.append("renamed")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    write_whole(tmp_path / "a.txt", b"x")
    assert done == [f".a.txt.{os.getpid()}.draft", "renamed", tmp_path.name]
    done.clear()
    with whole_file(tmp_path / "lease", durable=False) as file:
        file.write(b"x")
    assert done == ["renamed"]


def test_all_of_a_folder_is_synced_before_it_has_its_name(tmp_path, monkeypatch):
    done, real = [], os.fsync

    def fsync(handle):
        done.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    out = tmp_path / "out"
    with whole_folder(out, lambda _: None) as draft:
        (draft / "deep").mkdir()
        (draft / "deep" / "b").write_bytes(b"b")
        (draft / "a").write_bytes(b"a")
        (draft / "nowhere").symlink_to("gone")
        assert done == []
    assert sorted(done[:3]) == ["a", "b", "deep"]
    assert done[3:] == [f".out.{os.getpid()}.draft", tmp_path.name]


def test_drafts_of_dead_processes_are_swept_and_of_other_places_are_not(tmp_path):
    place = tmp_path / "a"
    left = [f".a.{DEAD}.draft", f".a.b.{DEAD}.draft", f".a.{os.getppid()}.draft", ".a.notes.draft"]
    for name in left:
        (tmp_path / name).write_bytes(b"half")
    with whole_file(place, sweep=False) as file:
        file.write(b"x")
    assert hidden(tmp_path) == sorted(left)
    write_whole(place, b"x")
    assert hidden(tmp_path) == sorted(left[1:])


def test_a_killed_writer_leaves_the_old_file_and_the_next_writer_sweeps(tmp_path):
    place = tmp_path / "a"
    write_whole(place, b"old")
    code = (
        "import os, sys, pathlib; from novarag.atomic import whole_file\n"
        "with whole_file(pathlib.Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], check=False)
    assert done.returncode == -9
    assert place.read_bytes() == b"old"
    assert len(drafts_of(place)) == 1
    write_whole(place, b"new")
    assert place.read_bytes() == b"new"
    assert drafts_of(place) == []


def test_errors_name_the_file_and_not_its_draft(tmp_path):
    place = tmp_path / "nowhere" / "a"
    with pytest.raises(FileNotFoundError) as caught, whole_file(place) as file:
        file.write(b"x")
    assert str(caught.value) == f"[Errno 2] No such file or directory: '{place}'"
    with pytest.raises(IsADirectoryError) as caught:
        write_whole(tmp_path, b"x")
    assert caught.value.filename == str(tmp_path)


def test_a_folder_that_is_not_there_is_made(tmp_path):
    write_whole(tmp_path / "deep" / "down" / "a", b"x")
    assert (tmp_path / "deep" / "down" / "a").read_bytes() == b"x"


def test_errors_of_other_files_stay_as_they_are(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, whole_file(tmp_path / "a"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "deep").mkdir()
    link = tmp_path / "link"
    link.symlink_to("deep/file")
    write_whole(link, b"x")
    assert link.is_symlink()
    assert (tmp_path / "deep" / "file").read_bytes() == b"x"


def test_a_device_is_written_into():
    write_whole(Path(os.devnull), b"x")
    assert not Path(os.devnull).is_file()


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with (
        pytest.raises(StorageError, match="Not a directory"),
        whole_folder(tmp_path / "file" / "out", lambda _: None),
    ):
        pass


def test_drafts_of_this_process_and_of_other_peoples(tmp_path, monkeypatch):
    def kill(process, _):
        if process == 1:
            raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    for process in (1, os.getpid()):
        (tmp_path / f".a.{process}.draft").mkdir()
    with whole_folder(tmp_path / "a", lambda _: None):
        pass
    assert hidden(tmp_path) == [".a.1.draft"]
