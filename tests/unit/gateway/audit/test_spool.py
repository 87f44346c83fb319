"""The spool: bounds, rotation, leftovers of processes that were killed, damage set aside."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.gateway.audit.spool import Spool, SpoolFull, frame_record


def open_spool(folder, limit=10**6, **more):
    return Spool(folder, limit=limit, **more)


def drained(spool, most=7):
    """Read and commit all there is."""
    got = []
    while (batch := spool.read(most)) is not None:
        assert len(batch.records) <= most
        got += batch.records
        spool.commit(batch)
    return got


def names(folder):
    return sorted(path.name.rpartition(".")[2] for path in folder.iterdir())


def test_what_is_appended_is_read_in_order_until_it_is_committed(tmp_path):
    spool = open_spool(tmp_path)
    for i in range(20):
        spool.append(b"%d" % i)
    first = spool.read(5)
    assert first.records == [b"%d" % i for i in range(5)]
    assert spool.read(5).records == first.records  # the commit failed: the same again
    spool.commit(first)
    assert drained(spool) == [b"%d" % i for i in range(5, 20)]
    assert spool.waiting == 0
    spool.close()
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=50)
@given(st.lists(st.one_of(st.integers(1, 200), st.just("commit"), st.just("crash")), max_size=40))
def test_no_order_of_writes_commits_and_crashes_loses_a_record(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("spool")
    spool, written, committed, number = open_spool(folder, rotate=300), [], [], 0
    for step in steps:
        if step == "commit":
            batch = spool.read(3)
            if batch is not None:
                committed += batch.records
                spool.commit(batch)
        elif step == "crash":
            for segment in spool._segments:
                os.close(segment.handle)  # as the death of the process does
            spool = open_spool(folder, rotate=300)
            spool.adopt()
        else:
            number += 1
            payload = b"%d-" % number + b"x" * step
            spool.append(payload)
            written.append(payload)
    committed += drained(spool)
    assert set(committed) == set(written)
    assert spool.waiting == 0
    assert spool.damaged == 0
    spool.close()
    assert list(folder.iterdir()) == []


def test_the_limit_holds_and_room_comes_back_with_commits(tmp_path):
    spool, size = open_spool(tmp_path, limit=1000), len(frame_record(b"x" * 80))
    kept = 1000 // size
    for _ in range(kept):
        spool.append(b"x" * 80)
    with pytest.raises(SpoolFull, match="limit"):
        spool.append(b"x" * 80)
    spool.commit(spool.read(2))
    spool.append(b"x" * 80)
    assert len(drained(spool)) == kept - 1


def test_segments_are_rotated_and_deleted_once_they_are_committed(tmp_path):
    spool = open_spool(tmp_path, rotate=200)
    for i in range(30):
        spool.append(b"%030d" % i)
    assert len(list(tmp_path.iterdir())) > 5
    assert len(drained(spool)) == 30
    assert len(list(tmp_path.iterdir())) == 1


def test_a_segment_that_is_wholly_committed_is_emptied(tmp_path):
    spool = open_spool(tmp_path)
    for _ in range(100):
        spool.append(b"x" * 1000)
    drained(spool, most=500)
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size == 0
    spool.append(b"later")
    assert drained(spool) == [b"later"]


def test_a_live_segment_keeps_what_is_not_committed(tmp_path):
    spool = open_spool(tmp_path)
    for i in range(100):
        spool.append(b"%d" % i + b"x" * 1000)
    spool.commit(spool.read(60))
    assert len(drained(spool)) == 40


def test_a_record_longer_than_the_window_is_read(tmp_path):
    spool = open_spool(tmp_path, limit=10**8)
    long = [b"a" * 3_000_000, b"b", b"c" * 700_000]
    for payload in long:
        spool.append(payload)
    assert drained(spool) == long


WRITER = """
import os, sys
from pathlib import Path
from novarag.gateway.audit.spool import Spool
spool = Spool(Path(sys.argv[1]), limit=10**9, rotate=5000)
number = 0
while True:
    spool.append(b"%d" % number)
    os.write(1, b"%d\\n" % number)  # the reply
    number += 1
"""


def test_a_killed_writer_leaves_every_record_that_was_answered(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        answered = [writer.stdout.readline() for _ in range(300)]
        mine = open_spool(tmp_path)
        for _ in range(50):  # it lives: its records are its own
            mine.adopt()  # perhaps a file in the moment it is made, which its maker then leaves
            assert drained(mine) == []
        writer.send_signal(signal.SIGKILL)
        answered += writer.stdout.read().splitlines(keepends=True)
    assert mine.adopt() > 0
    got = drained(mine)
    assert {line.strip() for line in answered if line.endswith(b"\n")} <= set(got)
    assert len(got) == len(set(got))
    assert mine.waiting == 0
    mine.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", [1, 9, 17, 18, 25, 40])
def test_a_record_that_was_cut_off_by_a_kill_is_no_damage(tmp_path, cut):
    (tmp_path / "1-x.spool").write_bytes(
        frame_record(b"first") + frame_record(b"second" * 10)[:-cut]
    )
    spool = open_spool(tmp_path)
    spool.adopt()
    assert drained(spool) == [b"first"]
    assert spool.damaged == 0
    assert names(tmp_path) == ["spool"]


def test_damage_is_counted_and_its_file_set_aside(tmp_path):
    content = bytearray(b"".join(frame_record(b"record %d" % i) for i in range(9)))
    content[60] ^= 1
    (tmp_path / "1-x.spool").write_bytes(content)
    spool = open_spool(tmp_path)
    spool.adopt()
    assert len(spool.read(500).records) == 8
    assert len(drained(spool)) == 8
    assert spool.damaged == len(frame_record(b"record 0"))
    assert names(tmp_path) == ["damaged", "spool"]
    assert open_spool(tmp_path).adopt() == 0


def test_two_heirs_never_take_the_same_segment(tmp_path):
    for i in range(6):
        (tmp_path / f"{i}-x.spool").write_bytes(frame_record(b"%d" % i))
    one, two = open_spool(tmp_path), open_spool(tmp_path)
    assert one.adopt() + two.adopt() == 6
    assert sorted(drained(one) + drained(two)) == [b"%d" % i for i in range(6)]


def test_a_segment_that_another_heir_finished_meanwhile_is_left(tmp_path, monkeypatch):
    path = tmp_path / "1-x.spool"
    path.write_bytes(frame_record(b"1"))
    spool, lock = open_spool(tmp_path), fcntl.flock

    def slow(handle, how):
        path.unlink(missing_ok=True)
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    assert spool.adopt() == 0
    assert drained(spool) == []


def test_a_segment_taken_in_the_moment_it_is_made_is_left_to_the_taker(tmp_path, monkeypatch):
    lock, failed = fcntl.flock, []

    def taken_once(handle, how):
        if not failed:
            failed.append(handle)
            raise BlockingIOError
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", taken_once)
    spool = open_spool(tmp_path)
    spool.append(b"1")
    assert drained(spool) == [b"1"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_segment_that_an_heir_deleted_before_it_was_locked_gets_no_records(tmp_path, monkeypatch):
    lock, deleted = fcntl.flock, []

    def late(handle, how):
        if not deleted:
            deleted.extend(tmp_path.iterdir())
            deleted[0].unlink()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    spool = open_spool(tmp_path)
    spool.append(b"1")
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() == frame_record(b"1")


def test_a_full_disk_leaves_no_half_records(tmp_path, monkeypatch):
    spool, write = open_spool(tmp_path), os.write
    spool.append(b"before")
    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:9]))
    with pytest.raises(SpoolFull, match="No space"):
        spool.append(b"half")

    def refuse(handle, content):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(SpoolFull, match="Input/output"):
        spool.append(b"none")
    monkeypatch.setattr(os, "write", write)
    spool.append(b"after")
    assert drained(spool) == [b"before", b"after"]
    assert spool.damaged == 0
    assert spool.waiting == 0


def test_a_half_record_that_cannot_be_taken_back_costs_no_other(tmp_path, monkeypatch):
    spool, write = open_spool(tmp_path, rotate=40), os.write
    spool.append(b"before")

    def refuse(handle, size):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:9]))
    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(SpoolFull):
        spool.append(b"half")
    monkeypatch.undo()
    for i in range(5):
        spool.append(b"after %d" % i)
    assert drained(spool) == [b"before", *(b"after %d" % i for i in range(5))]


def test_only_the_owner_may_read_a_spool(tmp_path):
    spool = open_spool(tmp_path / "spool")
    spool.append(b"1")
    (path,) = (tmp_path / "spool").iterdir()
    assert (tmp_path / "spool").stat().st_mode & 0o077 == 0
    assert path.stat().st_mode & 0o077 == 0
