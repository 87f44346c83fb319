"""Checkpoints: whatever is damaged, the training goes on from one that is whole."""

import os
import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag.sft.train.checkpoints import SEAL, is_sealed, keep_last, newest, seal, step_of

FILES = {"weights": b"\x00\x01\x02", "state.json": b'{"step": 3}', "deep/rng": b"random"}


def make(folder, step, *, files=FILES, sealed=True):
    place = folder / f"checkpoint-{step}"
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content + str(step).encode())
    if sealed:
        seal(place)
    return place


def all_files(place):
    return sorted(p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file())


@given(st.data())
def test_no_damage_passes_for_a_checkpoint(data):
    """Flip, cut, grow, empty, add or remove any byte or file of the newest: it is never taken."""
    with tempfile.TemporaryDirectory() as name, patch("os.fsync"):
        folder = Path(name)
        before, last = make(folder, 2), make(folder, 10)
        victim = last / data.draw(st.sampled_from(all_files(last)))
        content = victim.read_bytes()
        match data.draw(st.sampled_from(["flip", "cut", "grow", "remove", "add", "swap"])):
            case "flip":
                place = data.draw(st.integers(0, len(content) - 1))
                flip = data.draw(st.integers(1, 255))
                changed = bytes([content[place] ^ flip])
                victim.write_bytes(content[:place] + changed + content[place + 1 :])
            case "cut":
                victim.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
            case "grow":
                victim.write_bytes(content + b"x")
            case "remove":
                victim.unlink()
            case "add":
                (last / "stray").write_bytes(content)
            case "swap":
                (last / "weights").write_bytes((before / "weights").read_bytes())
        found, damaged = newest(folder)
        assert found == before
        assert damaged == ["checkpoint-10"]
        assert not last.exists()
        assert is_sealed(before)


def test_the_newest_is_by_number_and_the_last_two_are_kept(tmp_path):
    for step in (2, 4, 10):
        make(tmp_path, step)
    (tmp_path / "checkpoint-final").mkdir()
    (tmp_path / "checkpoint-²").mkdir()
    found, damaged = newest(tmp_path)
    assert (found.name, step_of(found), damaged) == ("checkpoint-10", 10, [])
    keep_last(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name[-1].isascii()) == [
        "checkpoint-10", "checkpoint-4", "checkpoint-final",
    ]  # fmt: skip


def test_all_damaged_means_from_the_beginning(tmp_path):
    make(tmp_path, 2, sealed=False)
    (make(tmp_path, 4) / SEAL).write_text("[]")
    (tmp_path / "checkpoint-6").mkdir()
    (tmp_path / "checkpoint-6" / SEAL).write_text("{}")
    assert newest(tmp_path) == (None, ["checkpoint-6", "checkpoint-4", "checkpoint-2"])
    assert not any(tmp_path.iterdir())
    assert newest(tmp_path / "nowhere") == (None, [])


def test_who_does_not_write_clears_nothing_away(tmp_path):
    make(tmp_path, 2)
    make(tmp_path, 4, sealed=False)
    found, damaged = newest(tmp_path, clear=False)
    assert (found.name, damaged) == ("checkpoint-2", ["checkpoint-4"])
    assert (tmp_path / "checkpoint-4").is_dir()


def test_a_seal_is_written_after_all_files_are_on_the_disk(tmp_path, monkeypatch):
    synced, real = [], os.fsync

    def fsync(handle):
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    make(tmp_path, 2)
    assert set(synced[:3]) == {"weights", "state.json", "rng"}
    assert synced[3:] == [f".{SEAL}.{os.getpid()}.draft", "checkpoint-2", tmp_path.name]


def test_a_kill_before_the_seal_has_its_name_leaves_no_seal(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        patched.setattr(Path, "unlink", lambda *_: (_ for _ in ()).throw(PermissionError))
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path, 2)
    assert (tmp_path / "checkpoint-2" / f".{SEAL}.{os.getpid()}.draft").is_file()
    assert newest(tmp_path) == (None, ["checkpoint-2"])


def test_a_draft_of_a_seal_is_no_file_of_the_checkpoint(tmp_path):
    place = make(tmp_path, 2)
    (place / f".{SEAL}.{os.getppid()}.draft").write_bytes(b"{")
    assert is_sealed(place)


def test_a_file_that_cannot_be_read_is_damage(tmp_path):
    place = make(tmp_path, 2)
    (place / "weights").unlink()
    (place / "weights").symlink_to(place / "weights")
    assert not is_sealed(place)
    shutil.rmtree(place)
    assert not is_sealed(place)
