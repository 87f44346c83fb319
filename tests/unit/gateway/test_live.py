"""An answer inside a reply that is still coming: what is shown, and what a piece costs."""

import asyncio
import json
import time

import pytest

from novarag.gateway.http.live_answer import LiveAnswer
from novarag.gateway.http.requests import ChatRequest, parse_question
from novarag.gateway.snapshot import Snapshot
from novarag.gateway.upstream import read_events
from tests.support.gateways import PASSAGES, QUESTION, REPLY, ask, framed, settings


def live_answer(folder):
    """Make an answer that nothing of has come yet, and the reply that its prompt asks for."""
    path = folder / "gateway.toml"
    path.write_text(settings("http://127.0.0.1:1/v1", model='mode = "annotate"'))
    snapshot = Snapshot(path)
    asked = parse_question(QUESTION, [*PASSAGES], snapshot.settings.limits)
    made = LiveAnswer(snapshot.respondents["support"], asked, ChatRequest.model_validate(ask()))
    return made, framed(REPLY, made.body["messages"][-1]["content"])


@pytest.mark.parametrize("size", [1, 2, 7, 50, 10_000])
def test_the_answer_is_shown_once_wherever_the_reply_is_cut(tmp_path, size):
    live, reply = live_answer(tmp_path)
    pieces = [reply[i : i + size] for i in range(0, len(reply), size)]
    shown = [said for piece in pieces if (said := live.feed(piece)) is not None]
    made = live.make_decision()
    assert shown == ["1871"]
    assert (made.text, made.answer.confidence) == ("1871", 0.9)


def test_a_line_without_its_end_shows_nothing(tmp_path):
    live, reply = live_answer(tmp_path)
    assert live.feed(reply.split("\nConfidence")[0]) is None
    assert live.feed("\nConf") == "1871"


def seconds_of(live, piece, count):
    """Return the processor's time that the cheapest of five rounds of pieces took."""
    took = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(count):
            live.feed(piece)
        took.append(time.process_time() - began)
    return min(took)


@pytest.mark.parametrize(
    ("piece", "before"), [("\n", 5_000), ("Step 1: none\n", 5_000), ("x" * 40, 40_000)]
)
def test_h2_work_per_piece_does_not_grow_with_what_came_before(tmp_path, piece, before):
    live, _ = live_answer(tmp_path)
    first = seconds_of(live, piece, 200)
    for _ in range(before):
        live.feed(piece)
    later = seconds_of(live, piece, 200)
    assert later < 10 * first


def test_h2_a_line_in_a_thousand_pieces_is_put_together_once(tmp_path):
    live, reply = live_answer(tmp_path)
    for piece in "x" * 20_000:
        live.feed(piece)
    assert live.feed("\n" + reply) == "1871"


class Reply:
    """A reply whose events are all there at once."""

    def __init__(self, content):
        self.content, self._left = self, [content]

    async def read(self, _):
        return self._left.pop() if self._left else b""


def test_h2_others_have_their_turn_while_a_stream_is_read():
    count, turns = 1_000, 0
    event = b"data: " + json.dumps({"choices": []}).encode() + b"\n\n"

    async def story():
        nonlocal turns
        seen = 0

        async def other():
            nonlocal turns
            while seen < count:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(other())
        async for _ in read_events(Reply(event * count), 10**6):
            seen += 1
        await beside

    asyncio.run(story())
    assert turns >= 10
