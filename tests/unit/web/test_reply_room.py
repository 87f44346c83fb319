"""The room that replies on their way share, and their compression."""

import asyncio
import gzip
import zlib

import pytest

from novarag import CallError, ChatLLM, Outcome, Patience, Sampling
from novarag.llm import parse_endpoint
from novarag.web.reply_room import ReplyRoom, _BoundedUnpacking
from validation.reply_sizes import ATTACKS, MEMORY, PROCESSOR, suffer

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
BODY = b'{"choices": [{"message": {"content": "Answer: x"}}]}'


def test_replies_together_never_take_more_than_there_is():
    async def run():
        room, held, most = ReplyRoom(100), 0, 0

        async def one(size):
            nonlocal held, most
            async with room.hold(size):
                held += size
                most = max(most, held)
                await asyncio.sleep(0)
                held -= size

        await asyncio.wait_for(asyncio.gather(*(one(s) for s in (60, 50, 40, 99, 1, 30) * 5)), 60)
        return most

    assert asyncio.run(run()) == 100


def test_one_alone_has_room_and_who_is_cancelled_blocks_nobody():
    async def run():
        room = ReplyRoom(100)
        async with room.hold(500):
            waiting = asyncio.create_task(enter(room))
            leaving = asyncio.create_task(enter(room))
            await asyncio.sleep(0)
            leaving.cancel()
        return await asyncio.wait_for(waiting, 60)

    async def enter(room):
        async with room.hold(10):
            return True

    assert asyncio.run(run())


def served(encoding, body):
    """Ask a server that answers with this body in this encoding."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\n{encoding}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        endpoint = parse_endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}=m")
        async with ChatLLM([endpoint], patience=Patience(attempts=1)) as llm:
            try:
                return (await llm.complete("hello", Sampling(max_tokens=9))).completions[0].text
            except CallError as error:
                return error
            finally:
                server.close()

    return asyncio.run(run())


def test_compressed_replies_are_read():
    bare = zlib.compressobj(wbits=-15)
    for name, body in (
        ("", BODY), ("identity", BODY), ("gzip", gzip.compress(BODY)), ("GZIP", gzip.compress(BODY)),
        ("deflate", zlib.compress(BODY)), ("deflate", bare.compress(BODY) + bare.flush()),
    ):  # fmt: skip
        assert served(f"Content-Encoding: {name}\r\n" if name else "", body) == "Answer: x"


@pytest.mark.parametrize(
    ("name", "body", "outcome"),
    [
        ("br", BODY, Outcome.MALFORMED),
        ("gzip", b"no gzip", Outcome.MALFORMED),
        ("gzip", gzip.compress(BODY)[:-20], Outcome.CUT_OFF),
    ],
    ids=["another encoding", "no gzip", "cut off"],  # gzip writes the time into its bytes
)
def test_what_cannot_be_unfolded_has_its_reason(name, body, outcome):
    assert served(f"Content-Encoding: {name}\r\n", body).outcome is outcome


def test_no_more_is_unfolded_than_is_wanted():
    unfold = _BoundedUnpacking("gzip")
    assert len(unfold(gzip.compress(b"x" * 1_000_000), 1000)) == 1000


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_reply_is_held_to_what_was_asked_for(encoding):
    body = b" " * 90_000 + BODY
    head = f"Content-Encoding: {encoding}\r\n" if encoding else ""
    found = served(head, gzip.compress(body) if encoding else body)
    assert (found.outcome, found.detail) == (
        Outcome.MALFORMED, "the reply is longer than 82,496 bytes",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("attack", "together"), [("60 MB of unknown length", 6), ("1.5 M choices without content", 1)]
)
def test_attacks_end_early_and_small(attack, together):
    found = asyncio.run(suffer(ATTACKS[attack], {"n": 16}, together=together))
    assert found["outcomes"] == ["malformed reply"]
    assert found["mb"] <= MEMORY
    assert found["s"] <= PROCESSOR * together
