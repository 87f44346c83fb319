"""The audit of a process without a database: rows are kept, requests never see the outage."""

import asyncio
import json
import logging
import time
from collections import deque

import pytest
from pydantic import ValidationError

from novarag.errors import StorageError, UsageError
from novarag.gateway.audit import recorder as recording
from novarag.gateway.audit.answer_lookup import UncommittedRows
from novarag.gateway.audit.payloads import from_payload, to_payload
from novarag.gateway.audit.recorder import AuditFull
from novarag.gateway.audit.rows import read_id_time
from novarag.gateway.audit.settings import AuditSettings
from novarag.gateway.audit.spool import Spool, frame_record
from novarag.gateway.http import feedback
from novarag.gateway.http.feedback import serve_feedback
from novarag.gateway.http.replies import draw_id
from novarag.gateway.http.requests import BadRequest
from tests.support.audited import VARIABLE, audit, row
from tests.support.waiting import until

pytestmark = pytest.mark.enable_socket
NOWHERE = "postgresql://someone:s3cretword@127.0.0.1:9/none"


def left(folder):
    """Read what a spool holds."""
    spool, got = Spool(folder / "spool", limit=10**9), []
    spool.adopt()
    while (batch := spool.read(100)) is not None:
        got += map(from_payload, batch.records)
        spool.commit(batch)
    spool.close()
    return got


def test_without_a_database_rows_wait_and_its_address_is_not_logged(monkeypatch, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)

    async def story():
        async with audit(monkeypatch, tmp_path, NOWHERE) as made:
            kept = [row() for _ in range(20)]
            assert all(made.record(one) for one in kept)
            await until(lambda: "wait in the spool" in caplog.text)
            return kept, made.state()

    kept, state = asyncio.run(story())
    assert (state.recorded, state.committed, state.lost, state.connected) == (20, 0, 0, False)
    assert state.waiting > 2000
    assert [one.id for one in left(tmp_path)] == [one.id for one in kept]
    assert "s3cretword" not in caplog.text
    assert "127.0.0.1" not in caplog.text
    assert caplog.text.count("wait in the spool") == 1  # said once, not at every try


def test_a_full_spool_lets_answers_go_on_and_counts_what_is_lost(monkeypatch, tmp_path, caplog):
    async def story():
        async with audit(monkeypatch, tmp_path, NOWHERE, spool_limit=100_000) as made:
            kept = [made.record(row()) for _ in range(2000)]
            return kept, made.state()

    kept, state = asyncio.run(story())
    assert True in kept
    assert state.lost == kept.count(False) > 0
    assert state.recorded == kept.count(True)
    assert state.full
    assert state.waiting <= 100_000
    assert caplog.text.count("decisions are not kept") == 1
    assert len(left(tmp_path)) == state.recorded


def test_a_full_spool_refuses_requests_where_the_operator_says_so(monkeypatch, tmp_path):
    async def story():
        made = audit(monkeypatch, tmp_path, NOWHERE, spool_limit=100_000, when_full="refuse")
        async with made:
            room = 100_000 // len(frame_record(to_payload(row())))
            for _ in range(room - 5):
                made.record(row())
            with pytest.raises(AuditFull) as caught:
                deque((made.record(row()) for _ in range(10)), maxlen=0)
            assert (caught.value.status, caught.value.after) == (503, 5.0)
            return made.state()

    assert asyncio.run(story()).lost == 0


def test_a_spool_that_cannot_be_written_is_said_at_the_start(monkeypatch, tmp_path):
    (tmp_path / "spool").write_text("a file, not a folder")

    async def story():
        async with audit(monkeypatch, tmp_path, NOWHERE):
            pass

    with pytest.raises(StorageError, match="spool cannot be written"):
        asyncio.run(story())


def test_a_mistake_of_ours_does_not_end_the_audit(monkeypatch, tmp_path, caplog):
    async def broken(*_):
        raise RuntimeError("a value: secret text")

    monkeypatch.setattr(recording, "_LONGEST", 0.05)
    calls = []

    async def story():
        made = audit(monkeypatch, tmp_path, NOWHERE)

        async def run(spool):
            calls.append(spool)
            if len(calls) == 1:
                await broken()
            await asyncio.sleep(60)

        monkeypatch.setattr(made, "_run", run)
        async with made:
            made.record(row())
            await until(lambda: len(calls) == 2)

    asyncio.run(story())
    assert "RuntimeError" in caplog.text
    assert "secret text" not in caplog.text
    assert len(left(tmp_path)) == 1


def test_settings_name_variables_and_refuse_what_is_no_address(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(UsageError, match=r"NOVARAG_DATABASE, which .* is not set"):
        AuditSettings().dsn()
    monkeypatch.setenv(VARIABLE, "mysql://user:pass@host/db")
    with pytest.raises(UsageError) as caught:
        AuditSettings().dsn()
    assert "pass" not in str(caught.value)
    monkeypatch.setenv("MY_KEY", "k1")
    assert AuditSettings(digest_key_env="MY_KEY").digest_key() == b"k1"
    assert AuditSettings().digest_key() == b""
    for wrong in ({"database": "x"}, {"spool_limit": 1}, {"days": 0}, {"database_env": "a b"}):
        with pytest.raises(ValidationError):
            AuditSettings(**wrong)


# --- feedback -------------------------------------------------------------------------------------


class Kept:
    """An audit that remembers what it was given."""

    def __init__(self, *, takes=True, known=(True,), **more):
        self.rows, self.takes, self.settings = [], takes, AuditSettings(**more)
        self.known, self.looks = list(known), 0

    async def has_answer(self, identity, tenant):
        self.looks += 1
        return self.known.pop(0) if len(self.known) > 1 else self.known[0]

    def record(self, one):
        self.rows.append(one)
        return self.takes


def say(made, body, **more):
    sent = []

    async def send(message):
        sent.append(message)

    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    asyncio.run(serve_feedback(made, raw, send, **more))
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_feedback_is_kept_by_id_and_tenant():
    made, identity, before = Kept(), draw_id(), int(time.time() * 1000)
    status, reply = say(made, {"id": identity, "verdict": "wrong"}, tenant="acme")
    assert (status, reply) == (200, {"id": identity, "verdict": "wrong", "kept": True, "confirmed": True})  # fmt: skip
    (kept,) = made.rows
    assert (kept.id, kept.tenant, kept.verdict) == (identity, "acme", "wrong")
    assert before <= kept.time_ms <= time.time() * 1000
    assert say(Kept(takes=False), {"id": identity, "verdict": "right"})[0] == 503


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        ({"id": "x", "verdict": "right"}, 400),
        ({"id": draw_id(), "verdict": "maybe"}, 400),
        ({"id": draw_id(), "verdict": "right", "more": 1}, 400),
        ({"id": "ffffffff-ffff-7fff-bfff-ffffffffffff", "verdict": "right"}, 404),
        ({"id": "00000000-0000-7000-8000-000000000000", "verdict": "right"}, 404),
        ({"id": draw_id(time.time() + 3600), "verdict": "right"}, 404),
        ({"id": draw_id(time.time() - 11 * 86_400), "verdict": "right"}, 404),
    ],
)
def test_feedback_that_can_be_of_no_answer_is_refused(body, status):
    made = Kept(days=10)
    with pytest.raises(BadRequest) as caught:
        say(made, body)
    assert caught.value.status == status
    assert made.rows == []


def test_feedback_on_the_first_and_the_last_day_is_taken():
    made = Kept(days=10)
    for ago in (0, 9.9 * 86_400):
        identity = draw_id(time.time() - ago)
        assert say(made, {"id": identity, "verdict": "right"})[0] == 200
        assert read_id_time(made.rows[-1].id).date()


@pytest.mark.parametrize(
    ("ago", "looks"), [(3_600, 1), (0, 4)], ids=["an hour old", "maybe on its way"]
)
def test_t11_feedback_on_an_answer_that_never_was_is_refused(monkeypatch, ago, looks):
    monkeypatch.setattr(feedback, "_LOOKUP_PAUSES", (0, 0, 0))
    made = Kept(known=[False])
    with pytest.raises(BadRequest, match="no answer here has this id") as caught:
        say(made, {"id": draw_id(time.time() - ago), "verdict": "right"})
    assert (caught.value.status, caught.value.param) == (404, "id")
    assert (made.rows, made.looks) == ([], looks)


@pytest.mark.parametrize(
    ("known", "confirmed"), [([False, True], True), ([False, None], False), ([None], False)]
)
def test_t11_an_answer_on_its_way_is_waited_for_and_what_cannot_be_known_is_kept(
    monkeypatch, known, confirmed
):
    monkeypatch.setattr(feedback, "_LOOKUP_PAUSES", (0, 0, 0))
    made = Kept(known=known)
    status, told = say(made, {"id": draw_id(), "verdict": "right"})
    assert (status, told["kept"], told["confirmed"]) == (200, True, confirmed)
    assert len(made.rows) == 1


def test_t11_rows_on_their_way_are_known_up_to_a_number():
    rows = UncommittedRows(most=2)
    for identity in "abc":
        rows.add(identity, "acme")
    assert [rows.find_tenant(identity) for identity in "abc"] == ["acme", "acme", None]
    assert not rows.complete
    rows.remove("ab")
    assert (rows.find_tenant("a"), rows.complete) == (None, False)
    rows.remove("c")
    assert rows.complete


def test_t11_while_the_database_is_away_an_answer_of_this_process_is_known_alone(
    monkeypatch, tmp_path
):
    async def story():
        async with audit(monkeypatch, tmp_path, NOWHERE) as made:
            one = row()
            made.record(one)
            return [
                await made.has_answer(one.id, "acme"),
                await made.has_answer(one.id, "other"),
                await made.has_answer(draw_id(), "acme"),
            ]

    assert asyncio.run(story()) == [True, False, None]


def test_a_gateway_without_an_audit_says_so():
    with pytest.raises(BadRequest, match="keeps no audit"):
        say(None, {"id": draw_id(), "verdict": "right"})
