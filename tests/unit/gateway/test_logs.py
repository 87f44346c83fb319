"""Logs: JSON lines that say what happened, and nothing that anybody wrote."""

import asyncio
import io
import json
import logging
import threading
import time
from contextlib import suppress

import aiohttp
import pytest
from aiohttp import web

from novarag.gateway.http.chat import serve_chat
from novarag.gateway.http.server import reload_settings
from novarag.gateway.observe.logs import JsonLines, json_logs, log_event
from tests.support.gateways import REPLY, Upstream, ask, events, fronted, post
from tests.support.waiting import until
from tests.unit.gateway.test_keys import hash_key, part, with_key

CHAT = "/v1/chat/completions"
MARK = "planted4711"
KEY = f"nvr_{MARK}"
MARKED = {
    "model": "support",
    "messages": [{"role": "system", "content": MARK}, {"role": "user", "content": f"lamp {MARK}?"}],
    "novarag": {"passages": [{"text": f"The lamp {MARK}", "source": MARK, "id": MARK}]},
    "user": MARK,
}


def run(tmp_path, story, *, upstream=None, tail="", more=""):
    """Play a story with logs on; return the lines."""
    out = io.StringIO()

    async def whole():
        async with fronted(tmp_path, upstream or Upstream(), tail=tail, more=more) as client:
            await story(client)

    with json_logs(out):
        asyncio.run(whole())
    return out.getvalue(), [json.loads(line) for line in out.getvalue().splitlines()]


def of(lines, event):
    return [line for line in lines if line["event"] == event]


async def say(upstream, request, body):
    """Reply with a mark, or fail in one of several ways that name it."""
    text = str(body)
    if "fail" in text:
        return web.Response(status=500, text=MARK, headers={"x": MARK})
    if "junk" in text:
        return web.Response(text=MARK)
    if "cut" in text:
        request.transport.abort()
        return web.Response()
    return None


@pytest.mark.enable_socket
def test_what_clients_and_models_write_is_in_no_line(tmp_path, monkeypatch):
    async def break_down(exchange, body):
        if b"bug" in body:
            raise ValueError(f"a fault of ours that quotes {body!r}")
        await serve_chat(exchange, body)

    monkeypatch.setattr("novarag.gateway.http.app.serve_chat", break_down)
    headers = with_key(KEY) | {"x-request-id": MARK, "user-agent": MARK, "traceparent": MARK}

    async def story(client):
        for word in ("", "fail", "junk", "cut", "bug"):
            for stream in (False, True):
                body = MARKED | {"stream": stream, "seed": 1, "stop": word or None}
                asked = f"{word} lamp {MARK}?"
                body["messages"] = [{"role": "user", "content": asked}]
                for sent in (body, MARKED | {"stream": stream, "messages": body["messages"]}):
                    with suppress(aiohttp.ClientError):  # our own faults end a connection
                        reply = await client.post(CHAT, json=sent, headers=headers)
                        await reply.read()
        wrong = with_key(KEY + "x")
        for path in ("/v1/score", f"/{MARK}", f"/v1/score?q={MARK}"):
            await client.post(path, data=MARK, headers=headers)
            await client.post(path, data=MARK, headers=wrong)
        await client.post("/v1/chat/completions", json={"model": MARK}, headers=headers)
        asking = asyncio.create_task(client.post("/v1/chat/completions", json=MARKED, headers=headers))  # fmt: skip
        await asyncio.sleep(0.01)
        asking.cancel()

    tail = part(KEY) + "[logs]\nrequests = true\n"
    upstream = Upstream(REPLY.replace("1871", MARK), act=say)
    text, lines = run(tmp_path, story, upstream=upstream, tail=tail, more="failures = 1000")
    assert MARK not in text
    assert hash_key(KEY).hex()[:12] not in text
    assert {line["kind"] for line in of(lines, "request_failed")} >= {"Unavailable", "fault"}
    assert len(of(lines, "request")) >= 4
    assert {line["kind"] for line in of(lines, "turned_away")} == {"key"}
    fault = next(line for line in lines if line.get("error") == "ValueError")
    assert fault["at"].startswith("break_down, line")


@pytest.mark.enable_socket
def test_failures_have_a_line_and_answers_only_where_they_are_wanted(tmp_path):
    async def story(client):
        await post(client, ask())
        await post(client, {"model": "none", "messages": [{"role": "user", "content": "x"}]})
        for _ in range(5):
            await events(client, ask(messages=[{"role": "user", "content": "fail"}]))

    _, lines = run(tmp_path, story, upstream=Upstream(act=say))
    failed = of(lines, "request_failed")
    assert len(failed) == 5
    assert failed[0].keys() >= {
        "time", "level", "id", "status", "model", "kind", "tenant", "seconds",
    }  # fmt: skip
    assert {(f["status"], f["model"], f["kind"]) for f in failed} == {
        (502, "support", "Unavailable")
    }
    assert not of(lines, "request")
    assert [line["upstream"] for line in of(lines, "breaker_open")] == ["main"]


@pytest.mark.enable_socket
def test_reloads_breakers_and_the_audit_have_their_lines(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_DATABASE", "postgresql://user:secret4711@127.0.0.1:9/x")

    async def story(client):
        path = tmp_path / "gateway.toml"
        good = path.read_text()
        path.write_text("broken = [")
        assert not await reload_settings(client.gateway)
        path.write_text(good + "\n")
        assert await reload_settings(client.gateway)
        await post(client, ask(messages=[{"role": "user", "content": "fail"}]))
        failed = time.monotonic()
        await until(lambda: time.monotonic() > failed + 0.01)  # the breaker's cooldown
        await post(client, ask())

    more, tail = "failures = 1\ncooldown = 0.01\n", '[audit]\nspool = "s"\n'
    text, lines = run(tmp_path, story, upstream=Upstream(act=say), more=more, tail=tail)
    order = [line["event"] for line in lines]
    for event in ("settings_refused", "settings_taken", "breaker_open", "breaker_closed", "keys_unread"):  # fmt: skip
        assert order.count(event) == 1, order
    assert "no TOML" in of(lines, "settings_refused")[0]["why"]
    assert of(lines, "novarag.gateway.audit")
    assert "secret4711" not in text


def test_lines_are_one_line_whatever_is_in_them_and_others_messages_are_not_kept():
    out = io.StringIO()
    with json_logs(out):
        log_event("odd", why="a\nb\u2028c\x1b[31m", level="warning", missing=None, share=1 / 3)
        logging.getLogger("uvicorn.error").warning("pattern %s\nmore", MARK)
        logging.getLogger("asyncio").error(f"Task was lost\nfuture: <{MARK}>")  # noqa: G004
        logging.getLogger("aiohttp.server").error(f"said {MARK}")  # noqa: G004
        try:
            int(MARK)
        except ValueError:
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [
        "odd", "uvicorn.error", "asyncio", "aiohttp.server", "uvicorn.error",
    ]  # fmt: skip
    assert "missing" not in lines[0]
    assert lines[0]["share"] == 0.333333
    assert [line["message"] for line in lines[1:3]] == ["pattern %s", "Task was lost"]
    assert lines[4]["error"] == "ValueError"
    assert MARK not in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_a_log_that_nobody_reads_holds_up_nothing(monkeypatch):
    monkeypatch.setattr("novarag.gateway.observe.logs._WAITING", 5)
    free = threading.Event()

    class Stuck(io.StringIO):
        def write(self, text):
            free.wait(10)
            return super().write(text)

    out = Stuck()
    with json_logs(out):
        for number in range(1000):
            log_event("x", number=number)
        free.set()
    assert 1 <= len(out.getvalue().splitlines()) <= 7
    assert not [h for h in logging.getLogger().handlers if isinstance(h.formatter, JsonLines)]
