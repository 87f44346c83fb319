"""A gateway has the model's server hold replies to their form, where it can."""

import asyncio
import json
import re

import pytest
from aiohttp import web

from tests.support.gateways import PASSAGES, REPLY, Upstream, ask, events, fronted, post

pytestmark = pytest.mark.enable_socket

ANNOTATE = 'mode = "annotate"'


@pytest.fixture(autouse=True)
def _waits(monkeypatch):
    """Have a busy machine wait as long as it takes for the first request."""
    monkeypatch.setattr("novarag.web.form_support.WAIT", 600.0)


def forms(upstream):
    return [(body.get("structured_outputs") or {}).get("regex") for body in upstream.seen]


async def refuse(_upstream, _request, body):
    """Refuse a form as a server does that knows of none."""
    if "structured_outputs" in body:
        said = "Unrecognized request argument supplied: structured_outputs"
        return web.json_response({"error": {"message": said}}, status=400)
    return None


def run(work):
    return asyncio.run(work)


def test_every_reply_is_held_to_the_form_of_its_own_frame(tmp_path):
    async def work():
        upstream = Upstream()
        async with fronted(tmp_path, upstream) as client:
            for _ in range(3):
                status, _, body = await post(client, ask())
                assert (status, body["novarag"]["confidence"]) == (200, 0.9)
        return forms(upstream)

    found = run(work())
    assert len(set(found)) == 3
    assert all(re.search(r"Answer\\\[[0-9a-f]{6}\\\]:", form) for form in found)


@pytest.mark.parametrize("model", ["", ANNOTATE])
def test_a_server_that_refuses_a_form_is_asked_freely_after_one_refusal(tmp_path, model):
    async def work():
        upstream = Upstream(act=refuse)
        async with fronted(tmp_path, upstream, model=model) as client:
            for _ in range(2):
                status, _, body = await post(client, ask())
                assert (status, body["novarag"]["decision"]) == (200, "answer")
                status, _, told = await events(client, ask())
                assert (status, told[-1]) == (200, "[DONE]")
                assert "1871" in "".join(told)
        return forms(upstream)

    found = run(work())
    assert len(found) == 5
    assert [form is None for form in found] == [False, True, True, True, True]


def test_a_stream_that_is_refused_is_streamed_freely(tmp_path):
    async def work():
        upstream = Upstream(act=refuse)
        async with fronted(tmp_path, upstream, model=ANNOTATE) as client:
            status, _, told = await events(client, ask())
            shown = [json.loads(line) for line in told[:-1]]
            await post(client, ask())
        verdict = next(chunk["novarag"] for chunk in shown if "novarag" in chunk)
        return status, verdict["confidence"], [form is None for form in forms(upstream)]

    assert run(work()) == (200, 0.9, [False, True, True])


def test_requests_at_once_are_refused_once(tmp_path):
    async def work():
        upstream = Upstream(act=refuse)
        async with fronted(tmp_path, upstream) as client:
            got = await asyncio.gather(*(post(client, ask()) for _ in range(30)))
        assert {status for status, _, _ in got} == {200}
        return sum(form is not None for form in forms(upstream)), len(upstream.seen)

    assert run(work()) == (1, 31)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_heeds_no_form_is_read_freely_and_not_asked_again(tmp_path, stream):
    async def work():
        upstream = Upstream("Well.\n" + REPLY.partition("Passage Class")[2] + "\n" + REPLY)
        async with fronted(tmp_path, upstream, model=ANNOTATE) as client:
            for _ in range(3):
                await (events if stream else post)(client, ask())
        return [form is None for form in forms(upstream)]

    assert run(work()) == [False, True, True]


def test_free_text_where_the_settings_say_so(tmp_path):
    async def work():
        upstream = Upstream()
        async with fronted(tmp_path, upstream, model="structured = false") as client:
            await post(client, ask())
        return forms(upstream)

    assert run(work()) == [None]


def test_the_words_of_the_paper_have_no_form(tmp_path):
    async def work():
        upstream = Upstream()
        model = 'strategy = "nova-paper"\nframe = false'
        async with fronted(tmp_path, upstream, model=model) as client:
            status, _, _ = await post(client, ask())
        return status, forms(upstream)

    assert run(work()) == (200, [None])


def test_what_refuses_everything_is_said_as_before(tmp_path):
    async def nothing(_upstream, _request, _body):
        return web.json_response({"error": {"message": "too long"}}, status=400)

    async def work():
        upstream = Upstream(act=nothing)
        async with fronted(tmp_path, upstream) as client:
            status, _, body = await post(client, ask())
            upstream.act = None
            again, _, _ = await post(client, ask())
        return status, body["error"]["message"], again, forms(upstream)[2] is None

    status, said, again, freed = run(work())
    assert (status, again, freed) == (502, 200, False), "nothing was learned of the form"
    assert "HTTP 400" in said


@pytest.mark.parametrize(
    "own",
    [
        {"response_format": {"type": "json_object"}},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
    ],
)
def test_a_form_of_the_clients_own_is_passed_on_as_it_came(tmp_path, own):
    async def work():
        upstream = Upstream()
        body = ask(**own)
        body.pop("novarag")
        async with fronted(tmp_path, upstream) as client:
            status, _, _ = await post(client, body)
        [seen] = upstream.seen
        return status, seen | {"model": "support"} == body

    assert run(work()) == (200, True)


def test_a_judge_of_somebody_elses_answer_is_held_too(tmp_path):
    async def work():
        upstream = Upstream(REPLY.partition("Step 3: Rule 2 applies.\n")[2])
        body = {"model": "support", "question": "When?", "answer": "1871", "passages": PASSAGES}
        async with fronted(tmp_path, upstream) as client:
            status, _, found = await post(client, body, "/v1/score")
        return status, found, forms(upstream)

    status, found, [form] = run(work())
    assert status == 200, found
    assert form.startswith("Passage Classifications")
