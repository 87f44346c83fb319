"""The OpenAPI document: sound, as it was committed, and true of what a real gateway replies."""

import asyncio
import json
from pathlib import Path

import orjson
import pytest
from aiohttp import web
from jsonschema import Draft202012Validator, ValidationError
from openapi_spec_validator import validate

from novarag.gateway.http import reply_models
from novarag.gateway.http.openapi import ROUTES, document_bytes, make_document
from novarag.gateway.http.replies import draw_id
from tests.support.gateways import PASSAGES, QUESTION, REPLY, Upstream, ask, events, fronted, post
from tests.unit.gateway.audit.test_recording import NOWHERE
from tests.unit.gateway.test_keys import KEY, OTHER, part, with_key
from tools.openapi_page import DOCUMENT, PAGE, make_page

CHAT, SCORE, FEEDBACK = "/v1/chat/completions", "/v1/score", "/v1/feedback"
PLAIN = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}
ENOUGH = {"model": "support", "question": QUESTION, "passages": PASSAGES}


def run(work):
    return asyncio.run(work)


def check(content, *place):
    """Hold what came against the schema at a place of the document."""
    document = orjson.loads(document_bytes())
    schema = document
    for step in place:
        schema = schema[step]
    Draft202012Validator({**schema, "components": document["components"]}).validate(content)


def check_reply(path, status, content, kind="application/json", method="post"):
    check(content, "paths", path, method, "responses", str(status), "content", kind, "schema")


def test_the_document_is_sound_and_as_it_was_committed():
    validate(json.loads(document_bytes()))
    assert DOCUMENT.read_bytes() == document_bytes(), "make openapi-docs"
    assert PAGE.read_text("utf-8") == make_page(), "make openapi-docs"


@pytest.mark.enable_socket
def test_every_route_is_in_the_document_and_is_served(tmp_path):
    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            served = {r.path: r.methods for r in client.server.config.app.routes}
            async with client.get("/openapi.json") as response:
                assert response.content_type == "application/json"
                return served, await response.read()

    served, found = run(story())
    assert found == document_bytes()
    documented = {}
    for route in ROUTES:
        documented.setdefault(route.path, set()).add(route.method.upper())
    assert {path: methods - {"HEAD"} for path, methods in served.items()} == documented


@pytest.mark.enable_socket
@pytest.mark.parametrize("mode", ["enforce", "annotate"])
@pytest.mark.parametrize("reply", [REPLY, "no form at all"], ids=["read", "unread"])
def test_answers_are_as_documented_whole_and_streamed(tmp_path, mode, reply):
    usage = {"stream_options": {"include_usage": True}}

    async def story():
        async with fronted(tmp_path, Upstream(reply), model=f'mode = "{mode}"') as client:
            return await post(client, ask()), await events(client, ask(**usage))

    (status, _, whole), (_, _, found) = run(story())
    assert status == 200
    check_reply(CHAT, 200, whole)
    assert set(whole["novarag"]) == set(reply_models.Verdict.model_fields)
    assert set(whole) == set(reply_models.ChatCompletion.model_fields)
    for one in found[:-1]:
        check(json.loads(one), "components", "schemas", "ChatChunk")
    with pytest.raises(ValidationError):
        check_reply(CHAT, 200, whole | {"novarag": whole["novarag"] | {"confidence": 90}})


@pytest.mark.enable_socket
def test_what_is_passed_on_scored_listed_and_said_is_as_documented(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_DATABASE", NOWHERE)

    async def story():
        async with fronted(tmp_path, Upstream("words"), tail="[audit]\n") as client:
            check_reply(CHAT, 200, (await post(client, PLAIN))[2])
            for more in ({"reply": REPLY}, {"answer": "1871", "confidence": 0.9}):
                status, _, scored = await post(client, ENOUGH | more, SCORE)
                assert status == 200
                assert set(scored) == set(reply_models.ScoreReply.model_fields)
                check_reply(SCORE, 200, scored)
            said = {"id": scored["id"], "verdict": "right"}
            check_reply(FEEDBACK, 200, (await post(client, said, FEEDBACK))[2])
            for path in ("/v1/models", "/livez", "/readyz"):
                async with client.get(path) as response:
                    json_like = response.content_type == "application/json"
                    content = await (response.json() if json_like else response.text())
                    check_reply(path, 200, content, response.content_type, "get")
            client.gateway.draining = True
            async with client.get("/readyz") as response:
                check_reply("/readyz", response.status, await response.text(), "text/plain", "get")

    run(story())


async def _hang(*_):
    await asyncio.sleep(5)


async def _full(*_):
    return web.json_response({}, status=429, headers={"Retry-After": "7"})


async def _fail(*_):
    return web.Response(status=500)


OLD = draw_id(0)
PROBLEMS = {
    "400 no JSON": (CHAT, b"{", 400, None),
    "400 kind": (CHAT, ask(stream="yes"), 400, None),
    "400 tools": (CHAT, ask(tools=[{}]), 400, None),
    "400 score": (SCORE, ENOUGH, 400, None),
    "502 score": (SCORE, ENOUGH | {"answer": "1871"}, 502, _fail),
    "404 model": (CHAT, ask(model="gpt"), 404, None),
    "404 answer": (FEEDBACK, {"id": OLD, "verdict": "right"}, 404, None),
    "404 responses": ("/v1/responses", {}, 404, None),
    "413": (CHAT, ask(messages=[{"role": "user", "content": "x" * 30_000}]), 413, None),
    "429": (CHAT, ask(), 429, _full),
    "502": (CHAT, ask(), 502, _fail),
    "503": (CHAT, ask(model="away"), 503, None),
    "504": (CHAT, ask(), 504, _hang),
}
AWAY = """
[limits]
deadline = 0.3
[upstreams.away]
url = "http://127.0.0.1:9/v1"
[models.away]
upstream = "away"
name = "none"
"""


@pytest.mark.enable_socket
@pytest.mark.parametrize("name", PROBLEMS)
def test_errors_are_as_documented(tmp_path, name):
    path, body, expected, act = PROBLEMS[name]

    async def story():
        async with fronted(tmp_path, Upstream(act=act), tail=AWAY) as client:
            data = body if isinstance(body, bytes) else orjson.dumps(body)
            async with client.post(path, data=data) as response:
                return response.status, response.headers, await response.json()

    status, headers, found = run(story())
    assert status == expected
    check_reply(path, status, found)
    assert ("retry-after" in headers) == (status in {429, 503})


@pytest.mark.enable_socket
def test_refusals_for_want_of_a_key_or_a_rate_are_as_documented(tmp_path):
    only_score = part(name="score", scopes='["score"]')

    async def story():
        tail = only_score + "[limits.rate]\nrequests = 1\n"
        async with fronted(tmp_path, Upstream(), tail=tail) as client:
            for key, path, expected in (
                (None, CHAT, 401), (OTHER, CHAT, 401), (KEY, CHAT, 403), (KEY, SCORE, 200),
                (KEY, SCORE, 429), (None, "/v1/models", 401), (KEY, "/metrics", 403),
            ):  # fmt: skip
                method = "post" if path in {CHAT, SCORE} else "get"
                body = {"json": ENOUGH | {"reply": REPLY}} if path == SCORE else {"json": ask()}
                more = {"headers": with_key(key)} if key else {}
                async with client.request(method, path, **body, **more) as response:
                    assert response.status == expected
                    check_reply(path, expected, await response.json(), method=method)

    run(story())


@pytest.mark.enable_socket
def test_what_operators_look_at_is_as_documented(tmp_path):
    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            for path in ("/metrics", "/status", "/status.json"):
                async with client.get(path) as response:
                    assert response.status == 200
                    kind, text = response.content_type, await response.text()
                    content = json.loads(text) if kind == "application/json" else text
                    check_reply(path, 200, content, kind, "get")
            async with client.get("/status", headers={"x-forwarded-for": "1.2.3.4"}) as response:
                check_reply("/status", 403, await response.json(), method="get")
                assert response.status == 403

    run(story())


def test_the_document_names_no_place_of_this_machine():
    assert str(Path.home()) not in document_bytes().decode()
    assert make_document()["paths"].keys() == {route.path for route in ROUTES}
