"""Frames, seals and journals under a file that is cut, scratched or doubled anywhere."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import Outcome
from novarag.runs.folder import Folder
from novarag.runs.journal import Journal, JournalState, journal_name, replay
from novarag.runs.log_frames import Scratch, frame, scan
from novarag.sealed_json import seal, unseal

TEXTS = st.lists(st.text(max_size=40), min_size=1, max_size=8)


def payloads(content):
    return [p for p in scan(content) if not isinstance(p, Scratch)]


@given(TEXTS)
def test_what_is_framed_is_found_again(texts):
    records = [orjson.dumps(t.encode("utf-8", "replace").decode()) for t in texts]
    assert list(scan(b"".join(map(frame, records)))) == records


@given(TEXTS, st.data())
def test_a_flipped_bit_costs_one_record_at_most_and_always_shows(texts, data):
    records = [
        orjson.dumps([i, t.encode("utf-8", "replace").decode()]) for i, t in enumerate(texts)
    ]
    content = bytearray(b"".join(map(frame, records)))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    found = list(scan(bytes(content)))
    whole = [p for p in found if not isinstance(p, Scratch)]
    assert any(isinstance(p, Scratch) for p in found)
    assert set(whole) <= set(records)
    assert len(whole) >= len(records) - 1


@given(TEXTS, st.data())
def test_a_cut_end_costs_only_what_was_cut(texts, data):
    records = [orjson.dumps(t.encode("utf-8", "replace").decode()) for t in texts]
    frames = [frame(r) for r in records]
    content = b"".join(frames)
    size = data.draw(st.integers(0, len(content)))
    ends = [sum(map(len, frames[: i + 1])) - 1 for i in range(len(frames))]
    assert payloads(content[:size]) == [
        r for r, end in zip(records, ends, strict=True) if end <= size
    ]


def test_a_text_inside_a_record_cannot_pass_for_a_record():
    forged = frame(orjson.dumps({"event": "reply"})).decode()
    real = orjson.dumps({"text": f"\n{forged}\n{forged}"})
    broken = bytearray(frame(real))
    broken[20] ^= 1
    assert payloads(bytes(broken) + frame(b"1")) == [b"1"]


@given(
    st.dictionaries(
        st.text(max_size=5).map(lambda t: t.encode("utf-8", "replace").decode()), st.integers(-9, 9)
    ),
    st.data(),
)
def test_a_seal_shows_every_changed_byte(content, data):
    raw = seal(content)
    assert unseal(raw) == content
    broken = bytearray(raw)
    place = data.draw(st.integers(0, len(raw) - 1))
    broken[place] ^= 1 << data.draw(st.integers(0, 7))
    assert unseal(bytes(broken)) is None
    assert unseal(raw[:place]) is None
    assert unseal(raw + raw[place:]) is None


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"content": 1}', b'{"content": {}}', b"\xff"])
def test_what_was_never_sealed_is_not_taken_for_it(raw):
    assert unseal(raw) is None


REPLY = {"usage": [1, 2], "completions": [{"text": "x"}]}


@pytest.fixture
def journal(tmp_path):
    store = Folder(tmp_path)
    journal = Journal(store, 0, JournalState(), run="r")
    journal.sent("k1", "a1", "e")
    journal.lost("k1", "a1", Outcome.TIMED_OUT, "slow")
    journal.sent("k1", "a2", "e")
    journal.reply("k1", "a2", REPLY)
    journal.sent("k2", "a3", "e")
    journal.dead("k3", Outcome.REFUSED, "no")
    journal.close()
    return tmp_path / journal_name(0)


def test_a_journal_tells_what_happened(journal):
    past = replay(journal.read_bytes())
    assert past.replies.keys() == {"k1"}
    assert past.dead == {"k3": (Outcome.REFUSED, "no")}
    assert [e.outcome for e in past.attempts.values()] == [
        Outcome.TIMED_OUT,
        Outcome.ANSWERED,
        Outcome.UNKNOWN,
    ]
    assert (past.run, past.damage, past.attempts["a2"].completion_tokens) == ("r", [], 2)


def test_the_first_reply_wins(journal, tmp_path):
    again = Journal(Folder(tmp_path), 0, replay(journal.read_bytes()), run="r")
    again.reply("k1", "a9", REPLY | {"completions": [{"text": "later"}]})
    again.reply("k3", "a8", REPLY)
    again.close()
    past = replay(journal.read_bytes())
    assert past.replies["k1"]["completions"] == [{"text": "x"}]
    assert past.dead == {}
    assert len(past.attempts) == 5


def test_a_record_that_is_there_twice_shows(journal):
    lines = journal.read_bytes().splitlines(keepends=True)
    past = replay(b"".join([*lines, lines[2]]))
    assert "twice" in past.damage[0]
    assert past.attempts.keys() == {"a1", "a2", "a3"}


def test_records_that_are_gone_show(journal):
    lines = journal.read_bytes().splitlines(keepends=True)
    past = replay(b"".join(lines[:2] + lines[4:]))
    assert past.damage[0].startswith("2 records are missing")


def test_an_end_that_is_gone_shows_if_it_was_once_safe(journal):
    content = journal.read_bytes()
    whole_lines = content[: content.rindex(b"\n", 0, -1) + 1]
    assert replay(whole_lines).damage == []
    assert "missing" in replay(whole_lines, synced=len(content)).damage[0]


def test_damage_is_told_once(journal, tmp_path):
    content = bytearray(journal.read_bytes())
    content[len(content) // 2] ^= 1
    journal.write_bytes(content)
    past = replay(bytes(content))
    assert len(past.damage) == 1
    Journal(Folder(tmp_path), 0, past, run="r").close()
    assert replay(journal.read_bytes()).damage == []


def test_a_torn_record_does_not_swallow_the_next(journal, tmp_path):
    torn = journal.read_bytes()[:-9]
    journal.write_bytes(torn)
    again = Journal(Folder(tmp_path), 0, replay(torn), run="r")
    again.sent("k4", "a4", "e")
    again.close()
    past = replay(journal.read_bytes())
    assert past.damage == []
    assert "a4" in past.attempts
    assert past.dead == {}


def test_two_writers_at_once_lose_nothing(tmp_path):
    from pyarrow import fs

    from novarag.runs.bucket import Bucket

    bucket = Bucket(fs.LocalFileSystem(), str(tmp_path), "x")
    a, b = (Journal(bucket, 0, JournalState(), run="r") for _ in range(2))
    a.sent("k1", "a1", "e")
    b.sent("k1", "b1", "e")
    a.sync()
    b.sync()
    a.reply("k1", "a1", dict(REPLY))
    b.reply("k1", "b1", REPLY | {"completions": [{"text": "second"}]})
    a.close()
    b.close()
    past = replay(bucket.read_log(journal_name(0)))
    assert past.damage == []
    assert past.attempts.keys() == {"a1", "b1"}
    assert len(past.replies) == 1


def test_a_segment_is_sent_once_however_many_ask(tmp_path):
    import threading
    import time

    from pyarrow import fs

    from novarag.runs.bucket import Bucket, SegmentLog

    bucket = Bucket(fs.LocalFileSystem(), str(tmp_path), "x")
    real = bucket.write

    def slow(name, content, *, durable=True):
        time.sleep(0.1)
        real(name, content)

    bucket.write = slow
    log = SegmentLog(bucket, "log")
    log.append(b"one\n")
    first = threading.Thread(target=log.sync)
    first.start()
    time.sleep(0.02)
    log.append(b"two\n")
    log.close()
    first.join()
    assert bucket.read_log("log") == b"one\ntwo\n"
