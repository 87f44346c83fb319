"""Chat completions through a real gateway: what clients see, and what the model is sent."""

import asyncio
import json

import pytest

from tests.support.gateways import PASSAGES, QUESTION, Upstream, ask, events, fronted, post

pytestmark = pytest.mark.enable_socket


def run(work):
    return asyncio.run(work)


def test_an_answer_carries_what_it_is_worth(tmp_path):
    async def story():
        upstream = Upstream()
        async with fronted(tmp_path, upstream) as client:
            status, headers, found = await post(client, ask())
        return upstream, status, headers, found

    upstream, status, headers, found = run(story())
    assert status == 200
    assert found["choices"][0]["message"] == {"role": "assistant", "content": "1871"}
    assert found["choices"][0]["finish_reason"] == "stop"
    told = found["novarag"]
    assert (told["confidence"], told["stated"], told["calibrated"]) == (0.9, 0.9, False)
    assert (told["evidence"], told["decision"], told["flaw"]) == ("consistent", "answer", None)
    assert [p["judgment"] for p in told["passages"]] == ["highly relevant", "irrelevant"]
    assert headers["x-novarag-id"] == told["id"]
    assert headers["x-novarag-confidence"] == "0.9"
    assert headers["x-novarag-decision"] == "answer"
    assert headers["x-novarag-evidence"] == "consistent"
    assert found["usage"]["total_tokens"] == 18
    sent = upstream.seen[0]
    assert sent["model"] == "llama"
    assert "novarag" not in sent
    assert QUESTION in sent["messages"][-1]["content"]
    assert PASSAGES[1] in sent["messages"][-1]["content"]


@pytest.mark.parametrize("mode", ["enforce", "annotate"])
def test_a_stream_shows_the_answer_alone_and_ends_with_the_verdict(tmp_path, mode):
    async def story():
        async with fronted(tmp_path, Upstream(), model=f'mode = "{mode}"') as client:
            return await events(client, ask(stream_options={"include_usage": True}))

    status, headers, found = run(story())
    assert status == 200
    assert found[-1] == "[DONE]"
    chunks = [json.loads(one) for one in found[:-1]]
    text = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])
    assert text == "1871"
    last = next(c for c in chunks if c["choices"] and c["choices"][0]["finish_reason"] == "stop")
    assert last["novarag"]["confidence"] == 0.9
    assert last["choices"][0]["delta"]["novarag"] == last["novarag"]
    assert chunks[-1]["usage"]["total_tokens"] == 18
    assert headers["x-novarag-id"] == last["novarag"]["id"]
    assert ("x-novarag-confidence" in headers) == (mode == "enforce")


@pytest.mark.parametrize("how", ["document parts", "texts of documents", "objects"])
def test_passages_come_in_three_ways(tmp_path, how):
    parts = {
        "document parts": [{"type": "document", "text": p} for p in PASSAGES],
        "texts of documents": [{"type": "document", "document": {"text": p}} for p in PASSAGES],
        "objects": [],
    }[how]
    body = {
        "model": "support",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": QUESTION}, *parts]},
        ],
    }
    if not parts:
        body["novarag"] = {"passages": [{"text": p, "source": "wiki"} for p in PASSAGES]}

    async def story():
        upstream = Upstream()
        async with fronted(tmp_path, upstream) as client:
            return upstream, await post(client, body)

    upstream, (status, _, found) = run(story())
    assert status == 200, found
    assert found["novarag"]["decision"] == "answer"
    assert upstream.seen[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    if not parts:
        assert [p["source"] for p in found["novarag"]["passages"]] == ["wiki", "wiki"]


PASSED = {
    "no passages": {},
    "several turns": {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]},
    "tools": {"tools": [{"type": "function", "function": {"name": "f"}}]},
    "several samples": {"n": 2},
    "images or sound": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
    "a reply format": {"response_format": {"type": "json_object"}},
    "log-probabilities": {"logprobs": True},
    "stop words": {"stop": ["x"]},
}  # fmt: skip


@pytest.mark.parametrize("reason", PASSED)
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_not_ours_passes_untouched_and_says_so(tmp_path, reason, stream):
    body = {"model": "support", "messages": [{"role": "user", "content": "Hi"}], "user": "u1"}
    body |= PASSED[reason]

    async def story():
        upstream = Upstream("plain words")
        async with fronted(tmp_path, upstream) as client:
            if stream:
                found = await events(client, body)
            else:
                found = await post(client, body)
            refused = await post(client, body | {"novarag": {"passages": PASSAGES}})
        return upstream, found, refused

    upstream, (status, headers, found), refused = run(story())
    assert status == 200
    assert headers["x-novarag-decision"] == "none"
    assert headers["x-novarag-reason"] == reason
    sent = upstream.seen[0]
    assert sent == body | {"model": "llama"} | ({"stream": True} if stream else {})
    if stream:
        assert found[-1] == "[DONE]"
    else:
        assert found["choices"][0]["message"]["content"] == "plain words"
    if reason != "no passages":
        assert refused[0] == 400
        assert reason in refused[2]["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 400, "no JSON object"),
        (b'{"model": "support"}', 400, "messages"),
        (b'{"model": "other", "messages": [{"role": "user", "content": "a"}]}', 404, "there is support"),
        (json.dumps(ask(novarag={"passages": [1]})).encode(), 400, "novarag.passages"),
        (json.dumps(ask(novarag={"passages": PASSAGES, "extra": 1})).encode(), 400, "extra"),
        (json.dumps(ask(messages=[{"role": "user", "content": " "}])).encode(), 400, "empty"),
        (json.dumps(ask(novarag={"passages": ["x"] * 51})).encode(), 413, "more than 50"),
        (json.dumps(ask(novarag={"passages": ["x" * 50_001]})).encode(), 413, "longer than"),
        (b" " * 1_000_001, 413, "longer than"),
    ],
)  # fmt: skip
def test_wrong_requests_are_told_what_is_wrong(tmp_path, body, status, words):
    async def story():
        upstream = Upstream()
        async with (
            fronted(tmp_path, upstream) as client,
            client.post("/v1/chat/completions", data=body) as response,
        ):
            return upstream, response.status, await response.json()

    upstream, got, found = run(story())
    assert got == status
    assert words in found["error"]["message"]
    assert not upstream.seen


def test_other_routes(tmp_path):
    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            status, _, found = await post(client, {}, "/v1/responses")
            assert status == 404
            assert "client.chat.completions" in found["error"]["message"]
            for path, method, refusal in (("/v1/nowhere", "GET", 404), ("/v1/score", "PUT", 405)):
                async with client.request(method, path) as refused:
                    said = (await refused.json())["error"]
                    assert (refused.status, said["code"]) == (refusal, str(refusal))
            async with client.get("/livez") as live, client.get("/readyz") as ready:
                assert (live.status, ready.status) == (200, 200)
            async with client.get("/v1/models") as models:
                assert [m["id"] for m in (await models.json())["data"]] == ["support"]

    run(story())
