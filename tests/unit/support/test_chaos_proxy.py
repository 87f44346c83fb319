"""Every toxic does what its name says; a proxy that did nothing would fail here."""

import asyncio
import random
import socket
import struct
from contextlib import asynccontextmanager, suppress
from dataclasses import FrozenInstanceError
from time import monotonic

import pytest

from tests.support.chaos import proxy as proxy_module
from tests.support.chaos.proxy import Proxy, Toxic

pytestmark = pytest.mark.enable_socket
EARLY = 0.01  # clocks may disagree by this much; lateness is never held against the machine


def run(check):
    async def within_reason():
        async with asyncio.timeout(120):
            await check()

    asyncio.run(within_reason())


async def echo(reader, writer):
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def proxied(*toxics, handler=echo, seed=0):
    """A proxy in front of a server; nothing may be left running behind them."""
    handlers = []

    async def serve(reader, writer):
        handlers.append(asyncio.current_task())
        with suppress(ConnectionError):
            await handler(reader, writer)
        with suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        async with Proxy("127.0.0.1", server.sockets[0].getsockname()[1], seed=seed) as proxy:
            proxy.toxics.extend(toxics)
            yield proxy
        await asyncio.gather(*handlers)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@asynccontextmanager
async def connected(proxy):
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def exchange(proxy, payload=b"ping", *, size=-1):
    """Send a payload and read so much; return what came, chunk by chunk, with its time."""
    start, chunks = monotonic(), []
    async with connected(proxy) as (reader, writer):
        writer.write(payload)
        if size < 0:
            writer.write_eof()
        while size and (data := await reader.read(1 << 16)):
            chunks.append((monotonic() - start, data))
            size -= min(len(data), size) if size > 0 else 0
    return chunks, monotonic() - start


def joined(chunks):
    return b"".join(data for _, data in chunks)


def noise(size):
    return random.Random(1).randbytes(size)


def test_without_toxics_everything_passes_both_ways_and_is_counted():
    async def check():
        async with proxied() as proxy:
            chunks, _ = await exchange(proxy, noise(1_000_000))
            assert joined(chunks) == noise(1_000_000)
            assert (proxy.bytes_up, proxy.bytes_down) == (1_000_000, 1_000_000)
            await exchange(proxy)
            assert proxy.connections == 2
            assert not proxy.applied

    run(check)


@pytest.mark.parametrize("stream", ["downstream", "upstream"])
def test_latency_holds_data_back(stream):
    async def check():
        async with proxied(Toxic("latency", stream=stream, latency=150)) as proxy:
            chunks, _ = await exchange(proxy, size=4)
            assert joined(chunks) == b"ping"
            assert chunks[0][0] >= 0.15 - EARLY
            assert proxy.applied == {"latency": 1}

    run(check)


def test_latency_delays_a_flow_and_does_not_thin_it_out():
    async def drip(reader, writer):
        for digit in b"012345":
            writer.write(bytes([digit]))
            await asyncio.sleep(0.02)

    async def check():
        async with proxied(Toxic("latency", latency=200), handler=drip) as proxy:
            chunks, _ = await exchange(proxy, size=6)
            assert joined(chunks) == b"012345"
            assert chunks[0][0] >= 0.2 - EARLY

    run(check)


def test_jitter_spreads_the_latency():
    async def check():
        async with proxied(Toxic("latency", latency=200, jitter=200)) as proxy:
            results = await asyncio.gather(*(exchange(proxy, size=4) for _ in range(12)))
            arrivals = [chunks[0][0] for chunks, _ in results]
            assert max(arrivals) - min(arrivals) > 0.1
            assert min(arrivals) < 0.2 - EARLY < max(arrivals)

    run(check)


def test_bandwidth_is_a_slow_line():
    async def check():
        async with proxied(Toxic("bandwidth", rate=100)) as proxy:
            chunks, _ = await exchange(proxy, noise(40_000), size=40_000)
            assert joined(chunks) == noise(40_000)
            assert chunks[-1][0] >= 0.4 - EARLY
            assert chunks[-1][0] - chunks[0][0] >= 0.2  # it flows, rather than comes at once

    run(check)


def test_slow_close_delays_the_end_and_not_the_data():
    async def check():
        async with proxied(Toxic("slow_close", delay=250)) as proxy:
            chunks, end = await exchange(proxy)
            assert joined(chunks) == b"ping"
            assert end >= 0.25 - EARLY
            assert chunks[-1][0] < end - 0.1

    run(check)


def test_timeout_stops_all_data_and_closes():
    async def check():
        async with proxied(Toxic("timeout", timeout=150)) as proxy:
            chunks, end = await exchange(proxy)
            assert chunks == []
            assert end >= 0.15 - EARLY
            assert (proxy.bytes_up, proxy.bytes_down) == (4, 0)

    run(check)


def test_timeout_of_zero_never_closes():
    async def check():
        async with (
            proxied(Toxic("timeout", timeout=0)) as proxy,
            connected(proxy) as (reader, writer),
        ):
            writer.write(b"ping")
            writer.write_eof()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(1), 0.2)
            assert (proxy.bytes_up, proxy.bytes_down) == (4, 0)

    run(check)


@pytest.mark.parametrize("stream", ["downstream", "upstream"])
def test_reset_peer_resets(stream):
    async def check():
        async with proxied(Toxic("reset_peer", stream=stream, timeout=150)) as proxy:
            start = monotonic()
            with pytest.raises(ConnectionResetError):
                await exchange(proxy)
            assert monotonic() - start >= 0.15 - EARLY
            assert proxy.bytes_down == 0

    run(check)


def test_reset_peer_without_a_timeout_resets_at_once():
    async def check():
        async with proxied(Toxic("reset_peer")) as proxy, connected(proxy) as (reader, _):
            with pytest.raises(ConnectionResetError):
                await reader.read(1)

    run(check)


def test_slicer_cuts_and_loses_nothing():
    async def check():
        toxic = Toxic("slicer", average_size=10, size_variation=5, delay=5000)
        async with proxied(toxic) as proxy:
            chunks, end = await exchange(proxy, noise(200), size=200)
            assert joined(chunks) == noise(200)
            assert len(chunks) >= 5  # some 20 leave; a busy machine may glue a few together
            assert len(chunks[0][1]) < 200
            assert end >= 200 / 15 * 0.005 - EARLY

    run(check)


def test_slicer_varies_its_sizes_about_the_average():
    toxic = Toxic("slicer", average_size=10, size_variation=5)
    stage = proxy_module._Stage(toxic, random.Random(0))
    sizes = [len(piece) for _, piece in proxy_module._plan(stage, 0.0, noise(10_000))][:-1]
    assert set(sizes) == set(range(5, 16))
    assert sum(sizes) / len(sizes) == pytest.approx(10, abs=0.5)


@pytest.mark.parametrize("size", [1, 37, 100])
def test_limit_data_closes_after_exactly_so_many_bytes(size):
    async def check():
        async with proxied(Toxic("limit_data", bytes=size)) as proxy:
            async with connected(proxy) as (reader, writer):
                writer.write(noise(100))  # and no end of stream: the close is the toxic's
                assert await asyncio.wait_for(reader.read(), 60) == noise(100)[:size]
            assert proxy.bytes_down == size

    run(check)


def test_limit_data_counts_over_the_whole_connection():
    async def check():
        async with (
            proxied(Toxic("limit_data", stream="upstream", bytes=37)) as proxy,
            connected(proxy) as (reader, writer),
        ):
            writer.write(noise(30))
            assert await reader.readexactly(30) == noise(30)
            writer.write(noise(30))
            await asyncio.wait_for(reader.read(), 60)
            assert proxy.bytes_up == 37

    run(check)


def test_limit_data_loses_nothing_before_the_limit_to_a_slow_reader():
    async def flood(reader, writer):
        writer.write(noise(60_000))
        await writer.drain()

    async def check():
        loop = asyncio.get_running_loop()
        async with proxied(Toxic("limit_data", bytes=50_000), handler=flood) as proxy:
            proxy._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.setblocking(False)
                await loop.sock_connect(client, ("127.0.0.1", proxy.port))
                await asyncio.sleep(0.1)
                received = b""
                while data := await loop.sock_recv(client, 1 << 16):
                    received += data
            assert received == noise(60_000)[:50_000]

    run(check)


def test_toxics_compose_in_order():
    async def check():
        toxics = Toxic("limit_data", bytes=50), Toxic("latency", latency=150)
        async with proxied(*toxics) as proxy:
            chunks, end = await exchange(proxy, noise(100))
            assert joined(chunks) == noise(100)[:50]
            assert end >= 0.15 - EARLY

    run(check)


def test_toxicity_is_drawn_from_the_seed():
    async def struck(seed, toxicity):
        async with proxied(Toxic("limit_data", bytes=1, toxicity=toxicity), seed=seed) as proxy:
            hits = [len(joined((await exchange(proxy))[0])) == 1 for _ in range(20)]
            assert proxy.applied["limit_data"] == sum(hits)
            return hits

    async def check():
        rng = random.Random(7)
        assert await struck(7, 0.5) == [rng.random() < 0.5 for _ in range(20)]
        assert await struck(8, 0.5) != await struck(7, 0.5)
        assert not any(await struck(7, 0.0))
        assert all(await struck(7, 1.0))

    run(check)


def test_toxics_are_for_new_connections():
    async def check():
        async with proxied() as proxy, connected(proxy) as (reader, writer):
            writer.write(b"a")
            assert await reader.readexactly(1) == b"a"
            proxy.toxics.append(Toxic("limit_data", bytes=1))
            assert joined((await exchange(proxy))[0]) == b"p"
            writer.write(b"bcd")
            assert await reader.readexactly(3) == b"bcd"
            proxy.toxics.clear()
            assert joined((await exchange(proxy))[0]) == b"ping"

    run(check)


def test_disabled_it_closes_and_refuses_until_enabled_again():
    async def check():
        async with proxied() as proxy:
            async with connected(proxy) as (reader, writer):
                writer.write(b"a")
                assert await reader.readexactly(1) == b"a"
                proxy.enabled = False
                assert not proxy.enabled
                assert await asyncio.wait_for(reader.read(), 60) == b""
            with pytest.raises(ConnectionRefusedError):
                await exchange(proxy)
            port = proxy.port
            proxy.enabled = True
            assert joined((await exchange(proxy))[0]) == b"ping"
            assert (proxy.port, proxy.connections) == (port, 2)

    run(check)


def test_an_unreachable_server_resets_the_client():
    async def check():
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        async with Proxy("127.0.0.1", port) as proxy:
            with pytest.raises(ConnectionResetError):
                await exchange(proxy)

    run(check)


def test_a_resetting_server_resets_the_client():
    async def slam(reader, writer):
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await reader.read(1)
        writer.transport.abort()

    async def check():
        async with proxied(handler=slam) as proxy:
            with pytest.raises(ConnectionResetError):
                await exchange(proxy, size=1)

    run(check)


def test_leaving_with_open_and_unmet_connections_leaves_nothing_behind():
    async def check():
        arrived = asyncio.Event()

        async def hold(reader, writer):
            await reader.read(4)
            arrived.set()
            await reader.read()

        async with proxied(Toxic("latency", latency=60_000), handler=hold) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(b"ping")
            await arrived.wait()
            unserved, unmet = (
                socket.create_connection(("127.0.0.1", proxy.port), timeout=60) for _ in range(2)
            )
            proxy._accept(proxy._listener)
        with unserved, unmet:
            assert unserved.recv(1) == b""
            with pytest.raises(ConnectionResetError):
                unmet.recv(1)
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()
        await writer.wait_closed()

    run(check)


def test_a_fault_of_its_own_is_not_hidden(monkeypatch):
    def broken(stage, at, item):
        raise ArithmeticError

    async def check():
        async with Proxy("127.0.0.1", port) as proxy:
            proxy.toxics.append(Toxic("latency", latency=1))
            with suppress(ConnectionError):
                await exchange(proxy)

    monkeypatch.setattr(proxy_module, "_plan", broken)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ExceptionGroup) as caught:
            run(check)
    assert caught.value.subgroup(ArithmeticError)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("gremlin", {}),
        ("latency", {"rate": 1}),
        ("latency", {"latenzy": 1}),
        ("latency", {"latency": -1}),
        ("latency", {"toxicity": 1.5}),
        ("latency", {"stream": "sideways"}),
        ("timeout", {"delay": 1}),
        ("bandwidth", {}),
        ("slicer", {"average_size": 0}),
    ],
)
def test_a_toxic_that_cannot_be_is_refused(kind, attributes):
    with pytest.raises(ValueError, match=r"\w"):
        Toxic(kind, **attributes)


def test_a_toxic_is_a_value():
    toxic = Toxic("latency", latency=100, stream="upstream")
    assert toxic == Toxic("latency", stream="upstream", toxicity=1.0, latency=100, jitter=0)
    assert (toxic.latency, toxic.jitter, toxic.stream, toxic.toxicity) == (100, 0, "upstream", 1.0)
    assert len({toxic, Toxic("latency", latency=101)}) == 2
    with pytest.raises(FrozenInstanceError):
        toxic.latency = 1
