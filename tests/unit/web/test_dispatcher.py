"""Who may send now: waiting, waking, giving up, and the counters that doors show."""

import asyncio
from time import monotonic

import pytest

from novarag.runs.progress import ProgressBoard
from novarag.web.dispatcher import Dispatcher
from novarag.web.endpoint import parse_endpoint
from tests.support.waiting import PATIENCE, until

ENDPOINTS = [parse_endpoint(f"http://x{i}=m") for i in range(2)]


def test_who_waits_is_woken_when_somebody_leaves():
    async def run():
        dispatcher = Dispatcher(ENDPOINTS[:1], 1)
        line = await dispatcher.enter()
        waiter = asyncio.create_task(dispatcher.enter())
        await until(lambda: dispatcher._waiting)
        assert not waiter.done()
        line.pace.gave_up()
        dispatcher.leave()
        await asyncio.wait_for(waiter, PATIENCE)
        return dispatcher.in_flight

    assert asyncio.run(run()) == 1


def test_who_gives_up_waiting_takes_nobody_elses_turn():
    async def run():
        dispatcher = Dispatcher(ENDPOINTS[:1], 1)
        line = await dispatcher.enter()
        first, second = (asyncio.create_task(dispatcher.enter()) for _ in range(2))
        await until(lambda: len(dispatcher._waiting) == 2)
        first.cancel()
        line.pace.gave_up()
        dispatcher.leave()
        await asyncio.wait_for(second, PATIENCE)
        return dispatcher.in_flight

    assert asyncio.run(run()) == 1


def test_a_turn_that_was_given_to_somebody_who_left_goes_on_to_the_next():
    async def run():
        dispatcher = Dispatcher(ENDPOINTS[:1], 1)
        line = await dispatcher.enter()
        first, second = (asyncio.create_task(dispatcher.enter()) for _ in range(2))
        await until(lambda: len(dispatcher._waiting) == 2)
        line.pace.gave_up()
        dispatcher.leave()  # wakes the first ...
        first.cancel()  # ... who is cancelled before it runs
        await asyncio.wait_for(second, PATIENCE)

    asyncio.run(run())


def test_a_paused_endpoint_is_tried_again_in_time():
    async def run():
        dispatcher = Dispatcher(ENDPOINTS[:1], 4)
        dispatcher.queues[0].pace.resumes = monotonic() + 0.05
        began = monotonic()
        await asyncio.wait_for(dispatcher.enter(), PATIENCE)
        return monotonic() - began

    assert asyncio.run(run()) >= 0.05


def test_a_paused_endpoint_does_not_stop_the_other():
    async def run():
        dispatcher = Dispatcher(ENDPOINTS, 4)
        dispatcher.queues[0].pace.resumes = monotonic() + 10 * PATIENCE
        return (await asyncio.wait_for(dispatcher.enter(), PATIENCE)).endpoint

    assert asyncio.run(run()) is ENDPOINTS[1]


def test_a_throttled_request_leaves_late_and_can_be_called_back():
    async def run():
        dispatcher = Dispatcher(ENDPOINTS[:1], 4)
        dispatcher.queues[0].pace.throttle.rate = 10.0
        began = monotonic()
        await dispatcher.enter()
        await dispatcher.enter()
        took = monotonic() - began
        dispatcher.queues[
            0
        ].pace.throttle.rate = 1e-3  # the third would leave in a quarter of an hour
        task = asyncio.create_task(dispatcher.enter())
        await until(lambda: dispatcher.in_flight == 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return took, dispatcher.in_flight

    took, in_flight = asyncio.run(run())
    assert took > 0.1
    assert in_flight == 2


def test_a_board_adds_up_shards_wherever_they_run():
    board = ProgressBoard()
    here = board.open(0)
    here.answered(10, 20)
    board.show(1, {"answered_requests": 3, "before": 2, "completion_tokens": 9})
    assert (board.total().settled, board.total().completion_tokens) == (4, 29)
    counts = {
        "requests": 5,
        "dead": 1,
        "trials": 4,
        "unread": 0,
        "prompt_tokens": 1,
        "completion_tokens": 11,
    }
    board.finish(1, counts, 2)
    board.close(0)
    board.close(7)
    total = board.total()
    assert (total.settled, total.dead_requests, total.before, total.completion_tokens) == (
        6,
        1,
        2,
        31,
    )
    board.show(2, {"answered_requests": 2})
    board.finish(2, {"pending": 3}, 0)
    assert board.total().settled == 8
