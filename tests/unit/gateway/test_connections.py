"""Connections before they are requests, over raw sockets: a deadline for headers, and a bound."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress

import pytest

from tests.support.audited import until
from tests.support.gateways import Upstream, ask, fronted, post
from tests.support.raw_client import RawClient, request
from tests.unit.gateway.test_keys import part

pytestmark = pytest.mark.enable_socket
HALF = b"POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nX-Slow: "
LIVE = b"GET /livez HTTP/1.1\r\nHost: gateway\r\n\r\n"
_PATIENCE = 30.0  # seconds for what must come to hold, on a machine of any load


@asynccontextmanager
async def connected(client):
    reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def ended(reader):
    """Return what comes until the server closes the connection, or resets it."""
    came = b""
    with suppress(ConnectionError):
        while piece := await asyncio.wait_for(reader.read(1 << 16), _PATIENCE):
            came += piece
    return came


def play(tmp_path, story, upstream=None, *, limits="headers = 0.2", tail=""):
    async def whole():
        tail_of = f"[limits]\n{limits}\n{tail}"
        async with fronted(tmp_path, upstream or Upstream(), tail=tail_of) as client:
            return await story(client)

    return asyncio.run(whole())


def test_m9_headers_that_do_not_come_are_not_waited_for(tmp_path):
    async def story(client):
        async with connected(client) as (silent, _), connected(client) as (half, writer):
            writer.write(HALF)
            told = await ended(half), await ended(silent)
        await until(lambda: not len(client.gateway.room))
        return told, client.gateway.tallies.turned_away

    (told, nothing), turned_away = play(tmp_path, story)
    assert told.startswith(b"HTTP/1.1 408 ")
    assert json.loads(told.partition(b"\r\n\r\n")[2])["error"]["code"] == "408"
    assert nothing == b""
    assert turned_away == {"late headers": 2}


def test_m9_a_byte_now_and_then_wins_no_time(tmp_path):
    async def story(client):
        async with connected(client) as (reader, writer):
            writer.write(HALF)
            ending = asyncio.create_task(ended(reader))
            while not ending.done():
                writer.write(b"x")
                await asyncio.sleep(0.02)
            return client.gateway.tallies.turned_away

    # A byte that is under way when the server closes resets the connection, and may take the 408
    # with it.
    assert play(tmp_path, story) == {"late headers": 1}


@pytest.mark.parametrize("byte", [b"\r\n", b"P"])
def test_m9_a_connection_that_was_used_has_no_more_time_than_a_fresh_one(tmp_path, byte):
    async def story(client):
        async with connected(client) as (reader, writer):
            writer.write(LIVE)
            await reader.readuntil(b"ok")
            ending = asyncio.create_task(ended(reader))
            writer.write(byte)
            while not ending.done():
                await asyncio.sleep(0.02)
                writer.write(b"\r\n" if byte == b"\r\n" else b"")
            return client.gateway.tallies.turned_away

    assert play(tmp_path, story) == {"late headers": 1}


def test_m9_a_body_that_nobody_reads_holds_no_connection(tmp_path):
    """Without a key the reply comes before the body, which then may not drip in for ever."""

    async def story(client):
        async with connected(client) as (reader, writer):
            writer.write(
                b"POST /v1/score HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000000\r\n\r\n"
            )
            ending = asyncio.create_task(ended(reader))
            while not ending.done():
                writer.write(b"x")
                await asyncio.sleep(0.02)
            return await ending

    told = play(tmp_path, story, tail=part())
    assert told.startswith(b"HTTP/1.1 401 ")


def test_m9_a_request_that_is_served_has_its_own_deadline(tmp_path):
    gate = asyncio.Event()

    async def wait(*_):
        await gate.wait()

    async def story(client):
        asking = asyncio.create_task(post(client, ask()))
        await until(lambda: client.gateway.in_flight)
        async with connected(client) as (reader, writer):  # begun later, and its time is over
            writer.write(HALF)
            await ended(reader)
        gate.set()
        return (await asking)[0]

    assert play(tmp_path, story, Upstream(act=wait)) == 200


def test_m9_a_connection_is_kept_from_request_to_request(tmp_path):
    async def story(client):
        raw = RawClient(client.port)
        found = []
        for _ in range(3):
            found.append((await raw.send(request(ask()))).status)
            found.append(len(client.gateway.room))
        raw.close()
        return found

    assert play(tmp_path, story, limits="headers = 30") == [200, 1] * 3


def test_m9_requests_sent_ahead_are_all_served(tmp_path):
    async def story(client):
        async with connected(client) as (reader, writer):
            writer.write(request(ask()) * 3 + LIVE + b"GET ")
            told = await ended(reader)
        return told.count(b"HTTP/1.1 200 OK"), told.count(b"HTTP/1.1 408 ")

    assert play(tmp_path, story) == (4, 1)


def test_m9_a_full_room_gives_up_who_has_waited_longest(tmp_path):
    async def story(client):
        async with connected(client) as (first, one), connected(client) as (second, two):
            one.write(HALF)
            two.write(HALF)
            await until(lambda: len(client.gateway.room) == 2)
            raw = RawClient(client.port)
            status = (await raw.send(request(ask()))).status
            closed = await ended(first)
            assert not second.at_eof()
            raw.close()
        return status, closed, client.gateway.tallies.turned_away

    status, closed, turned_away = play(tmp_path, story, limits="headers = 30\nconnections = 2")
    assert (status, closed) == (200, b"")
    assert turned_away == {"connections": 1}


def test_m9_a_room_full_of_requests_takes_no_more(tmp_path):
    gate = asyncio.Event()

    async def wait(*_):
        await gate.wait()

    async def story(client):
        asking = [RawClient(client.port) for _ in range(2)]
        tasks = [asyncio.create_task(raw.send(request(ask()))) for raw in asking]
        await until(lambda: client.gateway.in_flight == 2)
        async with connected(client) as (reader, _):
            told = await ended(reader)
        gate.set()
        found = [(await task).status for task in tasks]
        for raw in asking:
            raw.close()
        return told, found

    told, found = play(tmp_path, story, Upstream(act=wait), limits="connections = 2")
    assert told.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in told
    assert found == [200, 200]


def test_m9_what_is_no_http_is_refused_in_openais_shape(tmp_path):
    async def story(client):
        async with connected(client) as (reader, writer):
            writer.write(b"\x16\x03\x01 no HTTP\r\n\r\n")
            return await ended(reader)

    told = play(tmp_path, story)
    assert told.startswith(b"HTTP/1.1 400 ")
    assert json.loads(told.partition(b"\r\n\r\n")[2])["error"]["type"] == "invalid_request_error"


def test_m9_a_connection_is_not_handed_to_another_protocol(tmp_path):
    upgrade = LIVE.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n")  # fmt: skip

    async def story(client):
        async with connected(client) as (reader, writer):
            writer.write(upgrade)
            told = await asyncio.wait_for(reader.readuntil(b"ok"), _PATIENCE)
        await until(lambda: not len(client.gateway.room))
        return told

    assert b" 101 " not in play(tmp_path, story)


def test_m9_how_many_are_open_is_told(tmp_path):
    async def story(client):
        async with connected(client):
            await until(lambda: len(client.gateway.room) == 1)
            async with client.get("/metrics") as reply:
                return await reply.text()

    found = play(tmp_path, story, limits="headers = 30")
    assert "novarag_gateway_connections 2.0" in found
