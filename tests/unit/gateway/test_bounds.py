"""Values that break what takes them: each is refused or clamped, and leaves one row."""

import asyncio
import json

import orjson
import pytest
from aiohttp import web

from novarag.calls import Usage
from novarag.gateway.audit import rows as made_rows
from novarag.gateway.audit.payloads import from_payload, to_payload
from novarag.gateway.audit.recorder import AuditRecorder
from novarag.gateway.http import chat
from novarag.gateway.http.requests import BadRequest, ChatRequest, parse_body, rewrite_for_upstream
from novarag.gateway.http.usage import read_usage
from tests.support.gateways import (
    PASSAGES,
    QUESTION,
    REPLY,
    RawUpstream,
    Upstream,
    ask,
    completion,
    event,
    events,
    fronted,
    post,
)
from tests.support.raw_client import RawClient, request
from tests.unit.gateway.audit.test_recording import NOWHERE

pytestmark = pytest.mark.enable_socket
PLAIN = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}
AUDIT = '[audit]\nspool = "spool"\n'
SCORE = {"model": "support", "question": QUESTION, "passages": PASSAGES, "reply": REPLY}


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """Rows as they are handed to the audit, whose database cannot be reached."""
    monkeypatch.setenv("NOVARAG_DATABASE", NOWHERE)
    rows, record = [], AuditRecorder.record
    monkeypatch.setattr(
        AuditRecorder, "record", lambda self, row: rows.append(row) or record(self, row)
    )
    return rows


def play(tmp_path, story, upstream=None, **more):
    async def whole():
        async with fronted(tmp_path, upstream or Upstream(), tail=AUDIT, **more) as client:
            return await story(client)

    return asyncio.run(whole())


def deep(levels):
    return b"[" * levels + b"]" * levels


# --- what clients send ---


@pytest.mark.parametrize("body", [ask(), PLAIN], ids=["ours", "passed"])
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("value", [2**64 - 1, 2**63, 2**31])
def test_m4_more_tokens_than_there_are_is_a_mistake_with_a_row(tmp_path, kept, body, name, value):
    status, _, found = play(tmp_path, lambda client: post(client, body | {name: value}))
    assert (status, found["error"]["param"]) == (400, name)
    assert [(row.status, row.decision) for row in kept] == [(400, "failed")]


@pytest.mark.parametrize("place", ["system", "extra", "tools"])
@pytest.mark.parametrize("levels", [101, 300, 900])
def test_m4_a_body_that_is_nested_too_deep_is_a_mistake_with_a_row(tmp_path, kept, place, levels):
    body = json.dumps({
        "system": ask(messages=[{"role": "system", "content": "x", "y": 0}, *ask()["messages"]]),
        "extra": PLAIN | {"y": 0},
        "tools": PLAIN | {"tools": [{"y": 0}]},
    }[place]).encode().replace(b'"y": 0', b'"y": ' + deep(levels))  # fmt: skip

    async def story(client):
        async with client.post("/v1/chat/completions", data=body) as reply:
            return reply.status, await reply.json()

    status, found = play(tmp_path, story)
    assert (status, "levels deep" in found["error"]["message"]) == (400, True)
    assert [(row.status, row.decision) for row in kept] == [(400, "failed")]


def test_m4_what_is_nested_less_deep_is_taken_and_can_be_written():
    body = json.dumps(PLAIN | {"y": 0}).encode().replace(b'"y": 0', b'"y": ' + deep(99))
    assert parse_body(ChatRequest, body)
    assert rewrite_for_upstream(body, "llama")
    with pytest.raises(BadRequest):
        parse_body(ChatRequest, body.replace(deep(99), deep(100)))


# --- what servers send ---

AFTER = ["\u00b2", "9" * 400, "9" * 5_000, "-1", "1.5", "soon", "", "0x10", "\u0661"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("body", [ask(), PLAIN], ids=["ours", "passed"])
@pytest.mark.parametrize("said", AFTER, ids=range(len(AFTER)))
def test_m4_any_retry_after_is_read_or_left_out(tmp_path, kept, said, body, stream):
    async def full(*_):
        return web.json_response({}, status=429, headers={"Retry-After": said})

    async def story(client):
        async with client.post("/v1/chat/completions", json=body | {"stream": stream}) as reply:
            return reply.status, reply.headers.get("Retry-After")

    status, after = play(tmp_path, story, Upstream(act=full), model='mode = "annotate"')
    assert status == 429
    if said.startswith("999"):
        assert after == "3600"
    else:
        assert after == ("1" if body is not PLAIN else None)
    assert [row.status for row in kept] == [429]


async def sent(client, body):
    """Post a body over a connection of its own."""
    raw = RawClient(client.port)
    try:
        return await raw.send(request(body))
    finally:
        raw.close()


KINDS = [b"text/\x01html", b"text/\x7f", b"a" * 5_000, "t\u00e9xt/html".encode("latin-1"), b"none"]


@pytest.mark.parametrize("kind", KINDS, ids=range(len(KINDS)))
def test_m4_any_content_type_of_a_server_is_passed_on_or_left_out(tmp_path, kept, kind):
    body = json.dumps(completion("Hi")).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"

    async def story(client):
        reply = await sent(client, PLAIN)
        return reply.status, reply.headers["content-type"]

    status, told = play(tmp_path, story, RawUpstream(head % (kind, len(body)) + body))
    assert (status, told) in {(200, "application/octet-stream"), (502, "application/json")}
    assert [row.status for row in kept] == [status]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("body", [ask(), PLAIN], ids=["ours", "passed"])
@pytest.mark.parametrize("status", [201, 204, 206, 299, 304, 600, 999])
def test_m4_a_status_that_means_nothing_here_is_a_bad_gateway(tmp_path, kept, status, body, stream):
    upstream = RawUpstream(b"HTTP/1.1 %d So\r\nContent-Length: 0\r\n\r\n" % status)

    async def story(client):
        return (await sent(client, body | {"stream": stream})).status

    assert play(tmp_path, story, upstream) == 502
    assert [row.status for row in kept] == [502]


# --- the last resort ---


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/score"])
def test_m4_a_fault_of_ours_has_a_row_and_openais_shape(tmp_path, kept, path, monkeypatch, caplog):
    def broken(*_, **__):
        raise ZeroDivisionError("the words of a client")

    monkeypatch.setattr("novarag.scoring.scorer.Scorer.score", broken)

    async def story(client):
        found = await post(client, ask() if "chat" in path else SCORE, path)
        return found, (await post(client, {"model": "support"}, path))[0], client.gateway.in_flight

    (status, _, found), after, in_flight = play(tmp_path, story)
    assert (status, found["error"]["type"], found["error"]["code"]) == (500, "server_error", "500")
    assert (after, in_flight) == (400, 0)
    assert [(row.status, row.decision) for row in kept] == [(500, "failed"), (400, "failed")]
    assert "error=ZeroDivisionError at=broken, line" in caplog.text
    assert "the words of a client" not in caplog.text


def test_m4_a_fault_inside_a_stream_ends_it_with_an_error(tmp_path, kept, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(chat, "find_usage", broken)
    _, _, found = play(tmp_path, lambda client: events(client, PLAIN))
    assert json.loads(found[-1])["error"]["code"] == "500"
    assert "[DONE]" not in found
    assert [(row.status, row.decision) for row in kept] == [(500, "failed")]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", b"{", 400),
        ("/v1/chat/completions", b"{}", 400),
        ("/v1/chat/completions", b"x" * 1_000_001, 413),
        ("/v1/chat/completions", orjson.dumps(PLAIN | {"model": "nobody"}), 404),
        ("/v1/chat/completions", orjson.dumps(ask(novarag={"passages": ["p"] * 51})), 413),
        ("/v1/chat/completions", orjson.dumps(ask(tools=[{}])), 400),
        ("/v1/score", b"[]", 400),
        ("/v1/score", orjson.dumps(SCORE | {"model": "nobody"}), 404),
        ("/v1/score", orjson.dumps(SCORE | {"answer": "both"}), 400),
    ],
)  # fmt: skip
def test_m4_every_request_that_is_let_in_leaves_one_row(tmp_path, kept, path, body, status):
    async def story(client):
        async with client.post(path, data=body) as reply:
            return reply.status

    assert play(tmp_path, story) == status
    (row,) = kept
    assert (row.status, row.decision, row.tenant) == (status, "failed", "default")
    assert from_payload(to_payload(row)).id == row.id


# --- what the database holds ---


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("body", [ask(), PLAIN], ids=["ours", "passed"])
@pytest.mark.parametrize("mode", ["enforce", "annotate"])
def test_m5_tokens_fit_their_column_whatever_a_server_says(tmp_path, kept, body, stream, mode):
    usage = {"prompt_tokens": 2**40, "completion_tokens": 2**31}

    async def act(upstream, sent, given):
        if not given.get("stream"):
            return web.json_response(completion(REPLY) | {"usage": usage})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(sent)
        await response.write(event({"choices": [], "usage": usage}) + b"data: [DONE]\n\n")
        return response

    async def story(client):
        return (await events(client, body | {"stream": stream}))[0]

    model = f'mode = "{mode}"\nframe = false'
    assert play(tmp_path, story, Upstream(act=act), model=model) == 200
    (row,) = kept
    for tokens in (row.prompt_tokens, row.reply_tokens):
        assert tokens is None or 0 <= tokens < 2**31


def test_m5_sums_of_two_askings_fit_as_well():
    kept = made_rows._count_tokens(Usage(prompt=2**31, completion=2**32))
    assert kept == {"prompt_tokens": 2**31 - 1, "reply_tokens": 2**31 - 1}
    assert read_usage({"prompt_tokens": 2**31 - 1}) == Usage(prompt=2**31 - 1)


# --- what goes upstream ---


@pytest.mark.parametrize(
    "sent",
    [
        b'{"model":"secret","model":"other","Model":"support","messages":[{"role":"user","content":"Hi"}]}',
        b'{"MODEL":"secret","model":"other","messages":[{"role":"user","content":"Hi"}]}',
        b'{"model":"other"," model":"secret","model ":"x","messages":[{"role":"user","content":"Hi"}]}',
        b'{"\\u004dodel":"secret","model":"other","messages":[{"role":"user","content":"Hi"}]}',
        b'{"model":"other","messages":[{"role":"user","content":"Hi"}],"Messages":[],"Stream":true}',
    ],
)
def test_m10_the_server_reads_the_body_that_was_checked(tmp_path, sent):
    seen = []

    async def act(_, request, __):
        seen.append(await request.read())

    async def story(client):
        async with client.post("/v1/chat/completions", data=sent) as reply:
            return reply.status

    same = (
        '[models.other]\nupstream = "main"\nname = "other"'  # the name is the same here and there
    )
    assert play(tmp_path, story, Upstream(act=act), model=same) == 200
    keys = []
    content = json.loads(seen[0], object_pairs_hook=lambda pairs: keys.extend(pairs) or dict(pairs))
    names = [name for name, _ in keys]
    assert names.count("model") == 1
    assert content["model"] == "other"
    assert [name for name in content if name.strip().lower() in {"model", "messages", "stream"}] == ["model", "messages"]  # fmt: skip


def test_m10_all_else_of_a_body_goes_on_as_it_was_read():
    body = PLAIN | {"tools": [{"Model": "a tool's own"}], "user": "u", "X": 1.5, "novarag": None}
    found = json.loads(rewrite_for_upstream(json.dumps(body).encode(), "llama"))
    assert found == PLAIN | {"model": "llama", "tools": body["tools"], "user": "u", "X": 1.5}


# --- addresses ---


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions/", "/v1/score/", "/v1/feedback/", "/livez/", "/status/"]
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_an_address_with_a_slash_too_many_is_nothing_and_sends_nobody_elsewhere(
    tmp_path, path, method
):
    async def story(client):
        sent = {"headers": {"Host": "evil.example"}, "allow_redirects": False}
        async with client.request(method, path, **sent) as reply:
            return reply.status, reply.headers.get("Location"), await reply.json()

    status, location, found = play(tmp_path, story)
    assert (status, location, found["error"]["type"]) == (404, None, "not_found_error")
