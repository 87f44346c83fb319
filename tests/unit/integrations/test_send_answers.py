"""Sending answers: what is said of each, what is written down, and what tools are asked."""

import base64
import json
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from novarag import CallError, DataError, StorageError, UnknownNameError, UsageError, send_answers
from novarag.answers.cells.unsettled import UnsettledTable
from novarag.calls import Outcome
from novarag.errors import ServiceError
from novarag.integrations import phoenix
from novarag.integrations.send_answers import open_sink
from novarag.integrations.sent_log import SentLog
from tests.support import sinks

HOSTILE = "</script>{0}%s\x1b[31m\u202e`"


class Kept:
    """A sink that keeps what it gets, refuses some, and may break."""

    most, needs, documents = 4, "trace", True
    kept: ClassVar[dict] = {}
    calls: ClassVar[list] = []
    refuses: ClassVar[set] = set()
    breaks_after: ClassVar[int | None] = None

    def __init__(self, server=None):
        self.place = server or "here"

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def send(self, batch):
        Kept.calls.append([one.name for one in batch])
        if Kept.breaks_after is not None and len(Kept.calls) > Kept.breaks_after:
            raise CallError(Outcome.UNREACHABLE, "nobody there")
        if any(one.trace in Kept.refuses for one in batch):
            raise CallError(Outcome.REFUSED, "no such trace")
        Kept.kept |= {one.id: one for one in batch}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    for name, value in {"kept": {}, "calls": [], "refuses": set(), "breaks_after": None}.items():
        monkeypatch.setattr(Kept, name, value)


KEPT = f"{__name__}:Kept"


@pytest.fixture(autouse=True)
def found(monkeypatch):
    """Let the module be imported by its name, however pytest has loaded it."""
    monkeypatch.setitem(
        __import__("sys").modules, __name__, __import__("types").SimpleNamespace(Kept=Kept)
    )


def verdict(confidence, **more):
    return {
        "confidence": confidence, "stated": confidence, "decision": "answer", "evidence": None,
        "flaw": None, "reason": "why", "passages": [{"judgment": "relevant"}, {"judgment": None}],
        **more,
    }  # fmt: skip


def answers(folder, *confidences, name="answers.jsonl", **more):
    told = [verdict(one, **more) for one in confidences]
    return sinks.write_answers(folder / name, told, sinks.ids(len(told)))


def test_what_is_said_of_answers(tmp_path):
    unread = verdict(None, decision="abstain", flaw="no answer", reason="", interval=[0.1, 0.2])
    read = verdict(0.0, evidence="consistent", interval=[0.0, 0.25], reason=HOSTILE)
    file = sinks.write_answers(tmp_path / "a.jsonl", [unread, read], sinks.ids(2))
    done = send_answers(file, KEPT)
    assert (done.answers, done.sent, done.unread, done.unplaced) == (2, 7, 1, 0)
    kept = {(one.trace[-1], one.name, one.position): one for one in Kept.kept.values()}
    lost = kept["1", "novarag_confidence", None]
    assert (lost.value, lost.label, lost.unread) == (None, "unread: no answer", True)
    assert "the reply could not be read: no answer" in lost.comment
    assert set(lost.details) == {"decision", "judgments"}, "no number of what was not read"
    stated = kept["2", "novarag_confidence", None]
    assert (stated.value, stated.label, stated.said) == (0.0, None, 0.0)
    assert stated.details == {
        "stated": 0.0, "low": 0.0, "high": 0.25, "evidence": "consistent", "decision": "answer",
        "judgments": ["relevant", None],
    }  # fmt: skip
    assert stated.comment.isprintable()
    assert kept["2", "novarag_evidence", None].said == "consistent"
    assert kept["2", "novarag_passage", 0].span == sinks.ids(2)[1].retriever
    assert ("2", "novarag_passage", 1) not in kept
    assert len({one.id for one in kept.values()}) == 7


def test_no_text_of_anybody_is_sent(tmp_path):
    row = {"trace_id": "t", "question": "SECRET", "answer": "SECRET", "reply": "SECRET"}
    row |= {"confidence": 0.5, "passages": ["SECRET"], "judgments": ["relevant"]}
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(row))
    send_answers(file, KEPT)
    assert Kept.kept
    assert "SECRET" not in repr(Kept.kept)


def test_a_repeat_sends_nothing_and_a_change_only_itself(tmp_path):
    file = answers(tmp_path, 0.1, 0.2, 0.3)
    assert send_answers(file, KEPT).sent == 9
    before, calls = dict(Kept.kept), len(Kept.calls)
    again = send_answers(file, KEPT)
    assert (again.sent, again.before, len(Kept.calls)) == (0, 9, calls)
    answers(tmp_path, 0.1, 0.25, 0.3)
    assert send_answers(file, KEPT).sent == 1
    assert Kept.kept.keys() == before.keys()
    assert [o.value for o in Kept.kept.values() if o.value is not None] == [0.1, 0.25, 0.3]
    assert send_answers(file, KEPT, server="elsewhere").sent == 9, "another server has nothing"
    assert send_answers(file, KEPT, again=True).sent == 9
    assert send_answers(file, KEPT, sent=tmp_path / "other").sent == 9


def test_what_broke_goes_on(tmp_path):
    file = answers(tmp_path, *[0.5] * 10)
    Kept.breaks_after = 3
    with pytest.raises(CallError, match="nobody there"):
        send_answers(file, KEPT)
    Kept.breaks_after = None
    done = send_answers(file, KEPT)
    assert (done.sent, done.before, len(Kept.kept)) == (30 - 12, 12, 30)


@pytest.mark.parametrize(("cut", "lost"), [(1, 0), (2, 4), (40, 4)])
def test_a_line_that_a_kill_cut_counts_for_nothing(tmp_path, cut, lost):
    file, log = answers(tmp_path, *[0.5] * 4), tmp_path / "answers.jsonl.sent"
    assert send_answers(file, KEPT).sent == 12
    log.write_bytes(log.read_bytes()[:-cut])
    assert send_answers(file, KEPT).sent == lost
    log.write_bytes(log.read_bytes() + b'{"to": [\nnonsense\n[]\n{"sent": 3}\n')
    assert send_answers(file, KEPT).sent == 0
    assert b"here" not in log.read_bytes(), "an address may hold a password"


def test_times_stay_the_same(tmp_path):
    file = answers(tmp_path, 0.5)
    send_answers(file, KEPT)
    [first] = {one.at for one in Kept.kept.values()}
    send_answers(file, KEPT, again=True)
    assert {one.at for one in Kept.kept.values()} == {first}
    row = {"trace_id": "t", "confidence": 0.5, "time": "2026-01-31T10:00:00+02:00"}
    file.write_text(json.dumps(row))
    Kept.kept.clear()
    send_answers(file, KEPT)
    assert [one.at for one in Kept.kept.values()] == ["2026-01-31T08:00:00+00:00"]


def test_refusals_are_named_and_the_others_are_taken(tmp_path):
    file = answers(tmp_path, *[0.5] * 9)
    Kept.refuses = {sinks.ids(9)[4].trace}
    done = send_answers(file, KEPT)
    assert (done.sent, len(done.refused)) == (24, 3)
    assert {one.trace for one in done.refused} == Kept.refuses
    assert "no such trace" in repr(done)
    Kept.refuses = set()
    assert send_answers(file, KEPT).sent == 3


def test_where_nothing_is_taken_it_ends(tmp_path):
    file = answers(tmp_path, *[0.5] * 100)
    Kept.refuses = {place.trace for place in sinks.ids(100)}
    with pytest.raises(
        ServiceError, match=r"none of the first \d+ annotations was taken: no such trace"
    ):
        send_answers(file, KEPT)
    assert len(Kept.calls) < 200


def test_two_senders_do_not_write_one_log(tmp_path):
    with (
        SentLog(tmp_path / "log", "here"),
        pytest.raises(StorageError, match="another process is sending"),
        SentLog(tmp_path / "log", "here"),
    ):
        pass


def test_tables_of_all_kinds(tmp_path):
    scored = {"trace": ["t1", "t2", " ", None], "confidence": [0.9, 0.8, 0.7, 0.6]}
    scored |= {"calibrated": [0.6, None, 0.5, 0.5], "calibrated_low": [0.5, None, 0.4, 0.4]}
    frame = pl.DataFrame(scored)
    done = send_answers(frame, KEPT, sent=tmp_path / "log")
    assert (done.sent, done.unplaced, done.unread) == (2, 2, 1)
    first = next(one for one in Kept.kept.values() if one.trace == "t1")
    assert (first.value, first.details["stated"], first.details["low"]) == (0.6, 0.9, 0.5)
    csv = tmp_path / "a.csv"
    csv.write_text('traceId,confidence,judgments\nt3,90%,"[""relevant"", null]"\n')
    Kept.kept.clear()
    assert send_answers(csv, KEPT).sent == 1
    [one] = Kept.kept.values()
    assert (one.trace, one.value, one.details["judgments"]) == ("t3", 0.9, ["relevant", None])


def test_a_run_is_sent_by_the_column_that_names_the_trace(tmp_path):
    from novarag import ask
    from novarag.examples import simulated_pools

    ask(simulated_pools()[:3], "nova", "simulated:base", out=tmp_path / "run", samples=2)
    done = send_answers(tmp_path / "run", KEPT, trace="question")
    assert done.answers == 6
    assert len({one.id for one in Kept.kept.values()}) == done.sent
    assert (tmp_path / "run.sent").is_file()
    assert send_answers(tmp_path / "run", KEPT, trace="question").sent == 0


def test_what_cannot_be_sent_says_why(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id,confidence\nx,0.5\nx,0.6\n")
    with pytest.raises(UnsettledTable, match="no such column"):
        send_answers(file, KEPT)
    with pytest.raises(UnsettledTable, match="nothing"):
        send_answers(file, KEPT, trace="nothing")
    with pytest.raises(DataError, match="2 rows are of the same trace"):
        send_answers(file, KEPT, trace="id")
    with pytest.raises(UsageError, match="three columns"):
        send_answers(file, KEPT, trace="id", span="id")
    with pytest.raises(UsageError, match="`sent`"):
        send_answers(pl.DataFrame({"trace_id": ["t"], "confidence": [0.5]}), KEPT)
    with pytest.raises(StorageError, match="`sent`"):
        send_answers(answers(tmp_path, 0.5), KEPT, sent=Path("/dev/null/x"))
    assert Kept.calls == []


def test_sinks_are_found_by_name():
    with pytest.raises(UnknownNameError, match="langfuse, mlflow, phoenix"):
        open_sink("datadog")
    for odd in ("json:loads", "sys:maxsize", "no.such:THING", "pathlib:Path"):
        with pytest.raises(UsageError):
            open_sink(odd)
    with pytest.raises(UsageError, match="not an address"):
        open_sink("phoenix", "localhost")


@pytest.mark.enable_socket
def test_phoenix_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv(phoenix.KEY, "a-key-of-phoenix-0123")
    with sinks.stand_in(lambda *_: (200, {"data": []})) as heard:
        monkeypatch.setenv(phoenix.SERVER, heard.url)
        assert send_answers(answers(tmp_path, None, 0.5), "phoenix").sent == 6
    (path, headers, spans), (other, _, documents) = heard.requests
    assert path == "/v1/span_annotations?sync=true"
    assert other == "/v1/document_annotations?sync=true"
    assert headers["Authorization"] == "Bearer a-key-of-phoenix-0123"
    places, stated = sinks.ids(2), [s for s in spans["data"] if s["name"].endswith("confidence")]
    assert [one["result"]["score"] for one in stated] == [None, 0.5]
    assert [one["span_id"] for one in stated] == [place.span for place in places]
    assert all(one["identifier"] for one in spans["data"])
    assert [(d["span_id"], d["document_position"]) for d in documents["data"]] == [
        (place.retriever, 0) for place in places
    ]
    assert not any("identifier" in d or d["result"]["score"] for d in documents["data"])


@pytest.mark.enable_socket
def test_phoenix_tells_a_missing_span_from_a_wrong_address(tmp_path):
    file, lost = answers(tmp_path, 0.5, 0.6), sinks.ids(2)[0].span

    def answer(path, content):
        if any(one["span_id"] == lost for one in content["data"]):
            return 404, f"Spans with IDs {lost} do not exist.".encode()
        return 200, {"data": []}

    with sinks.stand_in(answer) as heard:
        done = send_answers(file, "phoenix", server=heard.url)
    assert {one.span for one in done.refused} == {lost}
    with (
        sinks.stand_in(lambda *_: (404, b"Not Found")) as heard,
        pytest.raises(CallError, match="404"),
    ):
        send_answers(file, "phoenix", server=heard.url, again=True)


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-0123456789abcdef")


@pytest.mark.enable_socket
@pytest.mark.usefixtures("keys")
def test_langfuse_is_asked(tmp_path):
    with sinks.stand_in(lambda *_: (202, {"message": "Accepted"})) as heard:
        send_answers(answers(tmp_path, None, 0.0), "langfuse", server=heard.url)
    [(path, headers, scores)] = heard.requests
    assert path == "/api/public/scores"
    pair = base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode()
    assert pair == "pk-lf-1:sk-lf-0123456789abcdef"
    stated = [one for one in scores if one["name"] == "novarag_confidence"]
    assert [(s["value"], s["dataType"]) for s in stated] == [
        ("unread: the reply has no confidence", "CATEGORICAL"), (0.0, "NUMERIC"),
    ]  # fmt: skip
    assert len({one["timestamp"] for one in scores}) == 1
    assert "sk-lf" not in (tmp_path / "answers.jsonl.sent").read_text()


@pytest.mark.enable_socket
@pytest.mark.usefixtures("keys")
def test_a_langfuse_that_takes_no_list_gets_one_at_a_time(tmp_path):
    def answer(_, content):
        return (
            (400, {"message": "not an object"}) if isinstance(content, list) else (200, {"id": "x"})
        )

    with sinks.stand_in(answer) as heard:
        assert send_answers(answers(tmp_path, *[0.5] * 30), "langfuse", server=heard.url).sent == 60
    assert [isinstance(one, list) for one in heard.contents()].count(True) == 1


@pytest.mark.enable_socket
@pytest.mark.usefixtures("keys")
def test_a_score_that_langfuse_rejects_is_found(tmp_path):
    bad = sinks.ids(9)[3].trace

    def answer(_, content):
        wrong = [one for one in content if one["traceId"] == bad]
        said = {"accepted": len(content) - len(wrong), "rejected": len(wrong), "errors": ["odd"]}
        return (207, said) if wrong else (202, {"message": "Accepted"})

    with sinks.stand_in(answer) as heard:
        done = send_answers(answers(tmp_path, *[0.5] * 9), "langfuse", server=heard.url)
    assert {one.trace for one in done.refused} == {bad}
    assert done.sent == 9 * 2 - 2


@pytest.mark.enable_socket
@pytest.mark.usefixtures("keys")
def test_keys_are_needed_and_never_shown(tmp_path, monkeypatch):
    echo = b"who is pk-lf-1 with sk-lf-0123456789abcdef?"
    with sinks.stand_in(lambda *_: (401, echo)) as heard, pytest.raises(CallError) as caught:
        send_answers(answers(tmp_path, 0.5), "langfuse", server=heard.url)
    assert "sk-lf" not in str(caught.value)
    assert "HTTP 401" in str(caught.value)
    for name in ("LANGFUSE_SECRET_KEY", "LANGFUSE_PUBLIC_KEY"):
        monkeypatch.delenv(name)
        with pytest.raises(UsageError, match=f"{name} is not set"):
            open_sink("langfuse", "http://127.0.0.1:9")
