"""Upstreams that fail, lie or hang: a client is told, and a cut reply never looks whole."""

import asyncio
import json
import time

import pytest
from aiohttp import web

from tests.support.gateways import REPLY, Upstream, ask, event, events, fronted, post
from tests.support.waiting import until

pytestmark = pytest.mark.enable_socket
PLAIN = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}


def run(work):
    return asyncio.run(work)


@pytest.mark.parametrize("body", [PLAIN, ask()], ids=["passed", "ours"])
@pytest.mark.parametrize("mode", ["enforce", "annotate"])
@pytest.mark.parametrize("until", [0, 1, 5, 30])
def test_a_stream_that_is_cut_off_never_ends_as_if_it_were_whole(tmp_path, body, mode, until):
    async def cut(upstream, request, sent):
        if sent.get("stream"):
            response = await upstream.streamed(request, REPLY, until=until)
            request.transport.abort()
            return response
        request.transport.abort()
        return web.Response()

    async def story():
        async with fronted(tmp_path, Upstream(act=cut), model=f'mode = "{mode}"') as client:
            return await events(client, body)

    status, headers, found = run(story())
    assert "[DONE]" not in found
    assert "x-novarag-confidence" not in headers
    if status == 200:
        assert "error" in json.loads(found[-1])
        assert not any("novarag" in json.loads(one) for one in found)
    else:
        assert status >= 500


@pytest.mark.parametrize("tail", [b"", b"data: {", b'data: {"choices": []}\n'])
def test_an_end_without_done_is_no_end(tmp_path, tail):
    async def stop(_, request, __):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(event({"choices": [{"delta": {"content": "x"}}]}) + tail)
        return response

    async def story():
        async with fronted(tmp_path, Upstream(act=stop)) as client:
            return await events(client, PLAIN)

    _, _, found = run(story())
    assert "[DONE]" not in found
    assert "too early" in json.loads(found[-1])["error"]["message"]


REPLIES = {
    "no JSON": web.Response(text="<html>"),
    "no choices": web.json_response({"choices": []}),
    "an error": web.json_response({"error": {"message": "secret things"}}, status=500),
    "elsewhere": web.Response(status=307, headers={"Location": "http://127.0.0.1:1/"}),
    "a refusal": web.json_response({"error": {"message": "no such model"}}, status=404),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_server_that_sends_rubbish_is_a_bad_gateway(tmp_path, name):
    async def act(*_):
        kept = REPLIES[name]
        return web.Response(body=kept.body, status=kept.status, headers={k: v for k, v in kept.headers.items() if k == "Location"})  # fmt: skip

    async def story():
        async with fronted(tmp_path, Upstream(act=act)) as client:
            return await post(client, ask())

    status, headers, found = run(story())
    assert status == 502
    assert "secret" not in json.dumps(found)
    assert "x-novarag-confidence" not in headers


def test_a_hanging_server_is_given_up(tmp_path):
    async def hang(*_):
        await asyncio.sleep(30)

    async def story():
        async with fronted(tmp_path, Upstream(act=hang), more="timeout = 0.3") as client:
            return await post(client, ask())

    status, _, found = run(story())
    assert status == 504
    assert "0.3 s" in found["error"]["message"]


def test_a_full_server_stays_a_full_server(tmp_path):
    async def full(*_):
        return web.json_response({}, status=429, headers={"Retry-After": "7"})

    async def story():
        async with fronted(tmp_path, Upstream(act=full)) as client:
            return await post(client, ask())

    status, headers, _ = run(story())
    assert (status, headers["Retry-After"]) == (429, "7")


def test_the_breaker_opens_for_the_server_alone_and_closes_again(tmp_path, monkeypatch):
    state = {"down": True}

    async def act(*_):
        return web.Response(status=500) if state["down"] else None

    async def story():
        more = "failures = 3\ncooldown = 60"
        upstream = Upstream(act=act)
        async with fronted(tmp_path, upstream, more=more) as client:
            for _ in range(20):
                assert (await post(client, {"model": "support"}))[0] == 400
            assert [(await post(client, ask()))[0] for _ in range(5)] == [502] * 3 + [503] * 2
            assert len(upstream.seen) == 3
            state["down"] = False
            now = time.monotonic()
            monkeypatch.setattr("novarag.gateway.upstream.monotonic", lambda: now + 61)
            assert [(await post(client, ask()))[0] for _ in range(3)] == [200] * 3

    run(story())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("body", [PLAIN, ask()], ids=["passed", "ours"])
def test_a_client_that_leaves_is_heard_upstream(tmp_path, stream, body):
    asked, heard = asyncio.Event(), asyncio.Event()

    async def hang(*_):
        asked.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            heard.set()
            raise

    async def story():
        async with fronted(tmp_path, Upstream(act=hang)) as client:
            asking = asyncio.create_task(post(client, body | {"stream": stream}))
            await asked.wait()
            asking.cancel()
            await asyncio.wait_for(heard.wait(), 20)  # before it would have come back by itself
            await until(lambda: client.gateway.in_flight == 0)

    run(story())


def test_more_than_may_be_in_flight_is_turned_away_at_once(tmp_path):
    gate = asyncio.Event()

    async def wait(*_):
        await gate.wait()

    async def story():
        tail = "[limits]\nin_flight = 3\n"
        upstream = Upstream(act=wait)
        async with fronted(tmp_path, upstream, tail=tail) as client:
            first = [asyncio.create_task(post(client, ask())) for _ in range(3)]
            await until(lambda: len(upstream.seen) == 3)
            status, headers, _ = await post(client, ask())
            assert (status, headers["Retry-After"]) == (503, "1")
            gate.set()
            assert [(await one)[0] for one in first] == [200] * 3

    run(story())


def test_the_end_waits_for_what_is_in_flight(tmp_path):
    gate = asyncio.Event()

    async def wait(*_):
        await gate.wait()

    async def story():
        upstream = Upstream(act=wait)
        async with fronted(tmp_path, upstream) as client:
            asking = asyncio.create_task(post(client, ask()))
            await until(lambda: upstream.seen)
            client.server.should_exit = True
            await until(lambda: client.gateway.draining)
            gate.set()
            assert (await asking)[0] == 200

    run(story())


def test_a_key_of_ours_is_never_handed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("GATEWAY_TEST_KEY", "sk-abcdefghijklmnopqrstuvwxyz0123456789")

    async def echo(_, request, __):
        return web.json_response({"choices": [{"message": {"content": request.headers["Authorization"]}}]})  # fmt: skip

    async def story():
        more = 'key_env = "GATEWAY_TEST_KEY"'
        async with fronted(tmp_path, Upstream(act=echo), more=more) as client:
            return await post(client, PLAIN)

    status, _, found = run(story())
    assert status == 200
    assert "abcdefghijkl" not in json.dumps(found)


@pytest.mark.parametrize("body", [PLAIN, ask()], ids=["passed", "ours"])
@pytest.mark.parametrize("mode", ["enforce", "annotate"])
def test_a_request_that_is_refused_opens_no_breaker(tmp_path, body, mode):
    async def refuse(_, __, sent):
        return web.json_response({"error": {"message": "no"}}, status=400) if "seed" in sent else None  # fmt: skip

    async def story():
        model, more = f'mode = "{mode}"', "failures = 2\ncooldown = 60"
        async with fronted(tmp_path, Upstream(act=refuse), model=model, more=more) as client:
            for stream in (False, True):
                for _ in range(3):
                    status, _, _ = await events(client, body | {"seed": 1, "stream": stream})
                    assert status == (400 if body is PLAIN else 502)
            return (await post(client, ask()))[0]

    assert run(story()) == 200


def test_a_refusal_of_a_passed_stream_is_passed_on(tmp_path):
    async def refuse(*_):
        return web.json_response({"error": {"message": "too long"}}, status=400)

    async def story():
        async with fronted(tmp_path, Upstream(act=refuse)) as client:
            return await post(client, PLAIN | {"stream": True})

    status, headers, found = run(story())
    assert (status, found) == (400, {"error": {"message": "too long"}})
    assert headers["x-novarag-decision"] == "none"


def test_an_event_without_end_is_a_failure(tmp_path):
    async def flood(_, request, __):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: " + b"x" * 1_100_000)
        return response

    async def story():
        async with fronted(tmp_path, Upstream(act=flood)) as client:
            return await events(client, PLAIN)

    _, _, found = run(story())
    assert "longer than" in json.loads(found[-1])["error"]["message"]


def test_the_end_of_a_stream_is_passed_on_once_the_reply_has_ended(tmp_path):
    async def cut(_, request, __):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(event({"choices": []}) + b"data: [DONE]\n\n")
        await asyncio.sleep(0.05)
        request.transport.abort()
        return response

    async def story():
        async with fronted(tmp_path, Upstream(act=cut)) as client:
            return await events(client, PLAIN)

    _, _, found = run(story())
    assert "[DONE]" not in found
    assert "error" in json.loads(found[-1])


def test_a_stop_is_told_to_a_stream_that_is_open(tmp_path):
    async def hang(_, request, __):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(event({"choices": []}))
        await asyncio.sleep(30)

    async def story():
        tail = "[limits]\ndrain = 1\n"
        async with fronted(tmp_path, Upstream(act=hang), tail=tail) as client:
            async with client.post(
                "/v1/chat/completions", json=PLAIN | {"stream": True}
            ) as response:
                await response.content.readline()  # it is open, and its first event is here
                client.server.should_exit = True
                rest = (await response.read()).decode().split("\n")
            found = [line[6:] for line in rest if line.startswith("data: ")]
            return found, client.gateway.tallies.outcomes

    found, outcomes = run(story())
    assert "stopping" in json.loads(found[-1])["error"]["message"]
    assert [outcome.decision for outcome in outcomes] == ["failed"]


def test_a_gateway_that_stops_has_its_clients_leave(tmp_path):
    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            before = (await post(client, ask()))[1].get("Connection")
            client.server.should_exit = True
            await until(lambda: client.gateway.draining)
            return before, (await post(client, ask()))[1].get("Connection")

    assert run(story()) == (None, "close")
