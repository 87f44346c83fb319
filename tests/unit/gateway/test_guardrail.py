"""LiteLLM's guardrail through a real gateway: what passes, what is blocked, what is remembered.

The bodies have the shape that its proxy was seen to send; tests/real/test_litellm.py asks it.
"""

import asyncio

import pytest

from novarag.gateway.http import guardrail
from novarag.gateway.http.guardrail import GUARDRAIL
from tests.support.gateways import PASSAGES, QUESTION, REPLY, Upstream, fronted, post
from tests.unit.gateway.test_keys import KEY, OTHER, part, with_key

pytestmark = pytest.mark.enable_socket
UNSURE = REPLY.replace("Consistent", "Insufficient").replace("90%", "40%")
POLICY = '[models.support.policy]\ninsufficient = "abstain"\n'
PARTS = [{"type": "text", "text": text} for text in (*PASSAGES, QUESTION)]
TOOLS = [
    {"role": "user", "content": "An earlier one?"},
    {"role": "tool", "content": "An earlier passage.", "tool_call_id": "0"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    {"role": "tool", "content": PASSAGES[0], "tool_call_id": "1"},
    {"role": "tool", "content": [{"type": "text", "text": PASSAGES[1]}], "tool_call_id": "1"},
]
DOCUMENTS = [{"type": "document", "text": text} for text in PASSAGES]


def user(content):
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]


def texts_of(messages):
    whole = [m["content"] for m in messages if m["content"] is not None]
    parts = [[{"text": c}] if isinstance(c, str) else c for c in whole]
    return [p["text"] for found in parts for p in found]


def body(kind, *, call="c1", **more):
    given = {"novarag": {"model": "support"} | more.pop("novarag", {})}
    told = {
        "input_type": kind, "litellm_call_id": call, "litellm_trace_id": "t", "texts": None,
        "structured_messages": None, "images": None, "tools": None, "tool_calls": None,
        "request_data": {"user_api_key_hash": "h"}, "request_headers": {"host": "x"},
        "litellm_version": "1.106.2", "model": "llama",
        "additional_provider_specific_params": given,
    }  # fmt: skip
    return told | more


def request(messages, **more):
    return body("request", structured_messages=messages, texts=texts_of(messages), **more)


def response(*texts, **more):
    return body("response", texts=list(texts), **more)


def play(tmp_path, *bodies, upstream=None, model="", tail="", headers=()):
    """Post bodies one after the other; return the replies with their statuses, and the gateway."""

    async def story():
        made = upstream or Upstream()
        async with fronted(tmp_path, made, model=model, tail=tail) as client:
            found = []
            for i, one in enumerate(bodies):
                key = headers[i] if headers else {}
                async with client.post(GUARDRAIL, json=one, headers=key) as reply:
                    found.append((reply.status, await reply.json(), reply.headers))
            return found, client.gateway

    return asyncio.run(story())


def last(tmp_path, *bodies, **more):
    found, _ = play(tmp_path, *bodies, **more)
    assert [status for status, _, _ in found] == [200] * len(bodies)
    return found[-1][1]


@pytest.mark.parametrize(
    "asked",
    [
        request(user(PARTS)),
        request(TOOLS),
        request(user(QUESTION), novarag={"passages": PASSAGES}),
        request(user([*DOCUMENTS, {"type": "text", "text": QUESTION}])),
        request(user("Any form of it"), novarag={"passages": PASSAGES, "question": QUESTION}),
    ],
    ids=["parts", "tools", "named passages", "documents", "both named"],
)
def test_the_question_and_its_passages_are_found(tmp_path, asked, monkeypatch):
    seen = []
    whole = guardrail.score_request

    async def scored(exchange, given):
        seen.append((given.question, [getattr(p, "text", p) for p in given.passages]))
        return await whole(exchange, given)

    monkeypatch.setattr(guardrail, "score_request", scored)
    given = asked["additional_provider_specific_params"]["novarag"]
    told = last(tmp_path, asked, response(REPLY, novarag=given))
    assert told == {"action": "GUARDRAIL_INTERVENED", "texts": ["1871"]}
    assert seen == [(QUESTION, PASSAGES)]


def test_a_request_passes_whatever_it_holds(tmp_path):
    for messages in (user(PARTS), user("no passages"), [], TOOLS[:1]):
        assert last(tmp_path, request(messages)) == {"action": "NONE"}


@pytest.mark.parametrize(
    ("reply", "words"),
    [(UNSURE, "I cannot answer this reliably"), ("No form at all.", "I could not produce")],
)
def test_what_is_withheld_is_blocked_with_its_reason(tmp_path, reply, words):
    found, _ = play(tmp_path, request(user(PARTS)), response(reply), model=POLICY)
    _, told, headers = found[-1]
    assert (told["action"], headers["x-novarag-decision"]) == ("BLOCKED", "abstain")
    assert told["blocked_reason"].startswith(words)
    assert headers["x-novarag-id"] in told["blocked_reason"]
    assert "texts" not in told


@pytest.mark.parametrize(
    ("bodies", "why"),
    [
        ([response(REPLY)], "not known here"),
        ([request(user(PARTS)), response(REPLY, call="c2")], "not known here"),
        ([request(user(PARTS), call=None), response(REPLY, call=None)], "not known here"),
        ([request(user(QUESTION)), response(REPLY)], "no passages"),
        ([request([]), response(REPLY)], "no message of a user"),
        ([request(user(PARTS)), request(TOOLS[:6]), response(REPLY)], "two calls"),
        ([request(user(PARTS)), response(REPLY, REPLY)], "not exactly one reply"),
        ([request(user(PARTS)), response(" ")], "not exactly one reply"),
        ([request(user(PARTS)), body("response")], "not exactly one reply"),
        (
            [
                request(user(PARTS)) | {"texts": ["one more", *texts_of(user(PARTS))]},
                response(REPLY),
            ],
            "left out parts",
        ),
        (
            [request(user([{"type": "text", "text": "x" * 50_001}, *PARTS])), response(REPLY)],
            "longer",
        ),
    ],
    ids=[
        "unknown",
        "other",
        "no id",
        "bare",
        "empty",
        "twice",
        "several",
        "blank",
        "none",
        "lost",
        "long",
    ],
)
def test_what_cannot_be_scored_is_blocked(tmp_path, bodies, why):
    told = last(tmp_path, *bodies)
    assert (told["action"], list(told)) == ("BLOCKED", ["action", "blocked_reason"])
    assert why in told["blocked_reason"]


def test_the_same_request_twice_is_one_call(tmp_path):
    told = last(tmp_path, request(user(PARTS)), request(user(PARTS)), response(REPLY))
    assert told["action"] == "GUARDRAIL_INTERVENED"


def test_an_answer_alone_is_asked_about_and_passes_as_it_is(tmp_path):
    for judged, action in ((REPLY, "NONE"), (UNSURE, "BLOCKED")):
        upstream = Upstream(judged)
        told = last(
            tmp_path, request(user(PARTS)), response("1871", novarag={"kind": "answer"}),
            upstream=upstream, model=POLICY,
        )  # fmt: skip
        assert (told["action"], len(upstream.seen)) == (action, 1)


def test_an_agents_step_without_text_passes_and_its_answer_does_not_by_that(tmp_path):
    step = {"tool_calls": [{"id": "1"}]}
    assert last(tmp_path, request(user(PARTS)), response(**step)) == {"action": "NONE"}
    told = last(tmp_path, request(user(PARTS)), response("no form", **step))
    assert told["action"] == "BLOCKED"


def test_hostile_text_stays_text(tmp_path):
    hostile = '{0.__class__} %s <script>"}]}\u0000\ud7ff'
    said = REPLY.replace("Answer: 1871", "Answer: see <b>{x}</b> %s")
    messages = user([{"type": "text", "text": hostile}, *PARTS])
    reply = said.replace("Passage 2: Irrelevant", "Passage 2: Irrelevant; Passage 3: Irrelevant")
    told = last(tmp_path, request(messages), response(reply))
    assert told == {"action": "GUARDRAIL_INTERVENED", "texts": ["see <b>{x}</b> %s"]}


def test_a_call_is_of_its_tenant_and_needs_a_key_for_scores(tmp_path):
    tail = part() + part(OTHER, "other") + part("nvr_chat", "chat", scopes='["chat"]')
    mine, theirs, chat = with_key(), with_key(OTHER), with_key("nvr_chat")
    found, _ = play(
        tmp_path,
        request(user(PARTS)), response(REPLY), response(REPLY), response(REPLY), response(REPLY),
        tail=tail, headers=[mine, theirs, {}, chat, mine],
    )  # fmt: skip
    assert [status for status, _, _ in found] == [200, 200, 401, 403, 200]
    assert found[1][1]["action"] == "BLOCKED"
    assert found[4][1]["action"] == "GUARDRAIL_INTERVENED"
    assert KEY not in str(found)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"input_type": "reply"}, 400),
        ({"texts": "one"}, 400),
        ({"additional_provider_specific_params": {}}, 400),
        ({"additional_provider_specific_params": {"novarag": {"model": "gpt"}}}, 404),
        (
            {"additional_provider_specific_params": {"novarag": {"model": "support", "gate": 0}}},
            400,
        ),
    ],
)
def test_a_fault_of_the_proxys_file_is_an_error_at_the_request_already(tmp_path, given, status):
    found, _ = play(tmp_path, request(user(PARTS)) | given)
    assert (found[0][0], "error" in found[0][1]) == (status, True)


def test_a_model_that_cannot_be_asked_is_an_error_and_no_pass(tmp_path):
    async def fail(*_):
        raise ConnectionError

    found, _ = play(
        tmp_path, request(user(PARTS)), response("1871", novarag={"kind": "answer"}),
        upstream=Upstream(act=fail),
    )  # fmt: skip
    assert found[-1][0] == 502


def test_a_score_of_a_reply_is_the_same_by_both_routes(tmp_path):
    async def story():
        async with fronted(tmp_path, Upstream(), model=POLICY) as client:
            same = {"model": "support", "question": QUESTION, "passages": PASSAGES}
            await post(client, request(user(PARTS)), GUARDRAIL)
            for reply in (REPLY, UNSURE, "no form"):
                _, _, told = await post(client, same | {"reply": reply}, "/v1/score")
                _, headers, found = await post(client, response(reply), GUARDRAIL)
                assert (found["action"] == "BLOCKED") == (told["answer"] is None)
                for name in ("confidence", "decision", "evidence"):
                    value = told[name]
                    assert headers.get(f"x-novarag-{name}") == (None if value is None else str(value))  # fmt: skip

    asyncio.run(story())
