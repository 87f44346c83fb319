"""Frames, seals and journals under a file that is cut, scratched or doubled anywhere."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import Outcome
from novarag.runs.folder import Folder
from novarag.runs.journal import Journal, JournalState, journal_name
from novarag.runs.journal import replay as replay_of
from novarag.runs.log_frames import Chain, Mark, Scratch
from novarag.sealed_json import seal, unseal

TEXTS = st.lists(st.text(max_size=40), min_size=1, max_size=8)
CHAIN = Chain("r", 0)


def chained(payloads, chain=CHAIN):
    frames, link = [], chain.root
    for payload in payloads:
        record, link = chain.frame(payload, link)
        frames.append(record)
    return frames


def payloads(content, chain=CHAIN):
    return [p.payload for p in chain.scan(content) if not isinstance(p, Scratch)]


def numbered(texts):
    return [orjson.dumps([i, t.encode("utf-8", "replace").decode()]) for i, t in enumerate(texts)]


@given(TEXTS)
def test_what_is_framed_is_found_again_and_linked(texts):
    records = numbered(texts)
    found = list(CHAIN.scan(b"".join(chained(records))))
    assert [f.payload for f in found] == records
    assert [f.before for f in found] == [CHAIN.root, *(f.link for f in found[:-1])]
    assert len({f.link for f in found}) == len(found)


@given(TEXTS, st.data())
def test_a_flipped_bit_costs_one_record_at_most_and_always_shows(texts, data):
    records = numbered(texts)
    content = bytearray(b"".join(chained(records)))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    found = list(CHAIN.scan(bytes(content)))
    whole = [p.payload for p in found if not isinstance(p, Scratch)]
    assert any(isinstance(p, Scratch) for p in found)
    assert set(whole) <= set(records)
    assert len(whole) >= len(records) - 1


@given(TEXTS, st.data())
def test_a_cut_end_costs_only_what_was_cut(texts, data):
    records = numbered(texts)
    frames = chained(records)
    content = b"".join(frames)
    size = data.draw(st.integers(0, len(content)))
    ends = [sum(map(len, frames[: i + 1])) - 1 for i in range(len(frames))]
    assert payloads(content[:size]) == [
        r for r, end in zip(records, ends, strict=True) if end <= size
    ]


def test_a_text_inside_a_record_cannot_pass_for_a_record():
    forged = chained([orjson.dumps({"event": "reply"})])[0].decode()
    real, after = chained([orjson.dumps({"text": f"\n{forged}\n{forged}"}), b"1"])
    broken = bytearray(real)
    broken[36] ^= 1
    assert payloads(bytes(broken) + after) == [b"1"]


@pytest.mark.parametrize("other", [Chain("r", 1), Chain("s", 0)])
def test_a_record_of_another_shard_or_run_is_none_here(other):
    assert payloads(b"".join(chained([b"1", b"2"], other))) == []


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


def replay(content, **options):
    return replay_of(content, run="r", shard=0, **options)


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
    assert (past.opened, past.damage, past.attempts["a2"].completion_tokens) == (True, [], 2)


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


def mark_of(content):
    return Mark(len(content), replay(content).head.decode())


def test_an_end_that_is_gone_shows_if_it_was_once_safe(journal):
    content = journal.read_bytes()
    safe = mark_of(content)
    whole_lines = content[: content.rindex(b"\n", 0, -1) + 1]
    assert replay(whole_lines).damage == []
    for cut in (whole_lines, content[:-9], b""):
        (said,) = replay(cut, safe=safe).damage
        assert f"last {len(content) - len(cut):,} bytes are missing" in said
        assert "second" in said
    flipped = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
    (said,) = replay(flipped, safe=safe).damage
    assert f"ends at byte {len(content):,} is damaged" in said
    assert replay(content, safe=safe).damage == []


def test_what_came_after_the_last_heartbeat_may_be_torn_and_is_quiet(journal):
    content = journal.read_bytes()
    lines = content.splitlines(keepends=True)
    safe = mark_of(b"".join(lines[:4]))
    assert replay(content, safe=safe).damage == []
    assert replay(content[:-9], safe=safe).damage == []
    assert replay(b"".join(lines[:5]) + bytes(40), safe=safe).damage == []
    foreign = chained([b"1", b"2"], Chain("s", 0))
    (said,) = replay(b"".join([*lines, *foreign]), safe=safe).damage
    assert said.startswith(f"{sum(map(len, foreign)):,} bytes are damaged")
    assert replay(content[:-9], safe=safe, overlapping=True).damage != []  # segments come whole


def test_an_end_that_was_exchanged_shows_whatever_its_length(journal, tmp_path):
    lines = journal.read_bytes().splitlines(keepends=True)
    older = b"".join(lines[:3])
    safe = mark_of(b"".join(lines))
    journal.write_bytes(older)
    again = Journal(Folder(tmp_path), 0, replay(older), run="r")
    for number in range(9):
        again.sent(f"other{number}", f"o{number}", "e")
    again.close()
    content = journal.read_bytes()
    assert len(content) > safe.size
    (said,) = replay(content, safe=safe).damage
    assert "another's" in said


def test_records_that_changed_places_show_and_stand(journal):
    a, b, c, *rest = journal.read_bytes().splitlines(keepends=True)
    past = replay(b"".join([a, c, b, *rest]))
    assert any("out of their place" in line for line in past.damage)
    assert past.attempts.keys() == {"a1", "a2", "a3"}


def test_a_branch_that_was_put_back_shows_and_stands(journal, tmp_path):
    lines = journal.read_bytes().splitlines(keepends=True)
    older = b"".join(lines[:3])
    journal.write_bytes(older)
    again = Journal(Folder(tmp_path), 0, replay(older), run="r")
    again.sent("k9", "a9", "e")
    again.close()
    past = replay(journal.read_bytes() + b"".join(lines[3:]))
    assert "out of their place" in past.damage[0]
    assert past.attempts.keys() == {"a1", "a2", "a3", "a9"}


def test_a_piece_of_another_journal_shows_and_is_left_out(journal, tmp_path):
    other = Journal(Folder(tmp_path), 1, JournalState(), run="r")
    other.sent("k1", "x1", "e")
    other.reply("k1", "x1", dict(REPLY))
    other.close()
    piece = (tmp_path / journal_name(1)).read_bytes()
    lines = journal.read_bytes().splitlines(keepends=True)
    past = replay(b"".join([*lines[:3], piece, *lines[3:]]))
    (said,) = past.damage
    assert said.startswith(f"{len(piece):,} bytes are damaged")
    assert "x1" not in past.attempts


def test_what_goes_missing_beside_known_damage_shows(journal, tmp_path):
    torn = journal.read_bytes()[:-9]
    journal.write_bytes(torn)
    again = Journal(Folder(tmp_path), 0, replay(torn), run="r")
    again.sent("k4", "a4", "e")
    again.sent("k5", "a5", "e")
    again.close()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert replay(b"".join(lines)).damage == []
    without = [line for line in lines if b'"a4"' not in line and b'"damage"' not in line]
    assert replay(b"".join(without)).damage != []
    without = [line for line in lines if b'"a4"' not in line]
    assert "1 records are missing" in replay(b"".join(without)).damage[0]


def test_what_goes_missing_right_after_a_known_scratch_shows(journal, tmp_path):
    content = bytearray(journal.read_bytes())
    lines = bytes(content).splitlines(keepends=True)
    content[len(b"".join(lines[:2])) + 40] ^= 1
    journal.write_bytes(content)
    Journal(Folder(tmp_path), 0, replay(bytes(content)), run="r").close()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert replay(b"".join(lines)).damage == []
    (said,) = replay(b"".join(lines[:3] + lines[4:])).damage
    assert "records are missing" in said


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
    content = bucket.read_log(journal_name(0))
    past = replay(content, overlapping=True)
    assert past.damage == []
    assert replay(content).damage != []  # where there are locks, that cannot be
    assert past.attempts.keys() == {"a1", "b1"}
    assert len(past.replies) == 1
    segments = sorted((tmp_path / journal_name(0)).iterdir())
    assert len(segments) == 4
    segments[0].unlink()
    assert replay(bucket.read_log(journal_name(0)), overlapping=True).damage != []


def test_a_segment_is_sent_once_however_many_ask(tmp_path):
    import threading

    from pyarrow import fs

    from novarag.runs.bucket import Bucket, SegmentLog
    from tests.support.waiting import PATIENCE

    bucket = Bucket(fs.LocalFileSystem(), str(tmp_path), "x")
    real, begun, leave = bucket.write, threading.Event(), threading.Event()

    def slow(name, content, *, durable=True):
        begun.set()
        assert leave.wait(PATIENCE)
        real(name, content)

    bucket.write = slow
    log = SegmentLog(bucket, "log")
    log.append(b"one\n")
    first = threading.Thread(target=log.sync)
    first.start()
    assert begun.wait(PATIENCE)
    log.append(b"two\n")
    second = threading.Thread(target=log.close)
    second.start()
    leave.set()
    second.join()
    first.join()
    assert bucket.read_log("log") == b"one\ntwo\n"
