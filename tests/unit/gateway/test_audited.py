"""Every request leaves one row: answered, withheld, passed on, cut off, left; feedback too."""

import asyncio

import pytest
from aiohttp import web

from novarag.gateway.audit.recorder import AuditRecorder
from novarag.strategies import CLOSED_BOOK, NOVA
from novarag.strategies.follow_up import GIVEN_ANSWER
from tests.support.gateways import PASSAGES, QUESTION, REPLY, Upstream, ask, events, fronted, post
from tests.support.waiting import until
from tests.unit.gateway.audit.test_recording import NOWHERE, left

pytestmark = pytest.mark.enable_socket
PLAIN = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}
AUDIT = '[audit]\nspool = "spool"\n'


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """Rows as they are handed to the audit, whose database cannot be reached."""
    monkeypatch.setenv("NOVARAG_DATABASE", NOWHERE)
    rows, record = [], AuditRecorder.record
    monkeypatch.setattr(
        AuditRecorder, "record", lambda self, row: rows.append(row) or record(self, row)
    )
    return rows


def run(tmp_path, story, upstream, *, model=""):
    """Play a story with a client; return what it returns, and how many rows are on disk."""

    async def whole():
        async with fronted(tmp_path, upstream, model=model, tail=AUDIT) as client:
            return await story(client)

    return asyncio.run(whole()), len(left(tmp_path))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["enforce", "annotate"])
def test_a_decision_is_kept_under_the_id_that_the_client_sees(tmp_path, kept, stream, mode):
    async def story(client):
        if stream:
            return (await events(client, ask()))[1]["x-novarag-id"]
        return (await post(client, ask()))[2]["novarag"]["id"]

    seen, on_disk = run(tmp_path, story, Upstream(), model=f'mode = "{mode}"')
    (row,) = kept
    assert on_disk == 1
    assert (row.id, row.decision, row.status, row.shown) == (seen, "answer", 200, True)
    assert (row.stated, row.evidence, row.route) == (0.9, "consistent", "stream" if stream else "chat")  # fmt: skip
    assert row.texts.question is None


def test_the_prompt_of_a_row_is_the_one_that_got_the_answer(tmp_path, kept):
    """A calibration is fitted on answers to one prompt, so rows must not mix them up."""
    scored = {"model": "support", "question": QUESTION, "passages": PASSAGES}

    async def story(client):
        for path, body in (
            ("/v1/chat/completions", ask()),
            ("/v1/score", scored | {"reply": REPLY}),
            ("/v1/score", scored | {"answer": "1871"}),
            ("/v1/score", scored | {"answer": "1871", "confidence": 0.5}),
        ):
            await post(client, body, path)

    policy = '[models.support.policy]\nconsistent = "closed-book"\n'
    run(tmp_path, story, Upstream(), model=policy)
    asked = [CLOSED_BOOK, NOVA, GIVEN_ANSWER]
    assert [row.prompt for row in kept] == [*(s.template.hash for s in asked), ""]


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_passed_on_is_kept_as_none(tmp_path, kept, stream):
    async def story(client):
        return await (events if stream else post)(client, PLAIN)

    _, on_disk = run(tmp_path, story, Upstream("words"))
    (row,) = kept
    assert on_disk == 1
    assert (row.decision, row.status, row.confidence) == ("none", 200, None)


@pytest.mark.parametrize("body", [PLAIN, ask()], ids=["passed", "ours"])
@pytest.mark.parametrize("mode", ["enforce", "annotate"])
def test_a_reply_that_was_cut_off_is_kept_as_failed(tmp_path, kept, body, mode):
    async def cut(upstream, request, sent):
        if sent.get("stream"):
            await upstream.streamed(request, REPLY, until=5)
        request.transport.abort()
        return web.Response()

    async def story(client):
        return await events(client, body)

    _, on_disk = run(tmp_path, story, Upstream(act=cut), model=f'mode = "{mode}"')
    (row,) = kept
    assert on_disk == 1
    assert (row.decision, row.status) == ("failed", 502)


def test_a_client_that_left_is_kept_and_so_is_a_mistake_of_a_client(tmp_path, kept):
    begun = asyncio.Event()

    async def hang(*_):
        begun.set()
        await asyncio.sleep(30)

    async def story(client):
        asking = asyncio.create_task(post(client, ask()))
        await begun.wait()
        asking.cancel()
        await until(lambda: kept)
        assert (await post(client, {"model": "other", "messages": []}))[0] == 400
        await until(lambda: not client.gateway.in_flight)
        assert [outcome.decision for outcome in client.gateway.tallies.outcomes] == ["left"]

    _, on_disk = run(tmp_path, story, Upstream(act=hang))
    assert on_disk == 2
    assert [(row.decision, row.status, row.model) for row in kept] == [
        ("failed", 499, "support"), ("failed", 400, ""),
    ]  # fmt: skip


def test_feedback_is_kept_beside_its_answer(tmp_path, kept):
    async def story(client):
        found = (await post(client, ask()))[2]["novarag"]["id"]
        said = await post(client, {"id": found, "verdict": "right"}, "/v1/feedback")
        assert said[0] == 200
        assert (await post(client, {"id": "x", "verdict": "right"}, "/v1/feedback"))[0] == 400
        return found

    seen, on_disk = run(tmp_path, story, Upstream())
    assert on_disk == 2
    assert [row.id for row in kept] == [seen, seen]
    assert kept[1].verdict == "right"


def test_without_an_audit_there_is_no_feedback(tmp_path):
    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            found = (await post(client, ask()))[2]["novarag"]["id"]
            return await post(client, {"id": found, "verdict": "right"}, "/v1/feedback")

    assert asyncio.run(story())[0] == 404
