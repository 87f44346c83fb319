"""Sync forms of async functions: in a script, inside a running loop, in a thread."""

import asyncio
import inspect
import threading

import pytest

from novarag.flows.sync import LoopThread, run_sync, synchronous
from novarag.runner.stop import Stop
from tests.support.waiting import PATIENCE


async def double_async(number: int, *, pause: float = 0.0) -> int:
    """Double a number."""
    await asyncio.sleep(pause)
    return 2 * number


double = synchronous(double_async)


def test_the_sync_form_is_the_async_one_without_await():
    assert double(4) == 8
    assert (double.__name__, double.__doc__) == ("double", "Double a number.")
    assert inspect.signature(double) == inspect.signature(double_async)
    assert not inspect.iscoroutinefunction(double)


def test_it_works_inside_a_running_loop():
    async def notebook():
        return double(4)

    assert asyncio.run(notebook()) == 8


def test_it_works_in_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(double(4)))
    thread.start()
    thread.join()
    assert found == [8]


@pytest.mark.parametrize("inside", [False, True])
def test_what_it_raises_is_raised(inside):
    async def fail():
        raise LookupError("gone")

    def call():
        run_sync(fail())

    async def notebook():
        call()

    with pytest.raises(LookupError, match="gone"):
        asyncio.run(notebook()) if inside else call()


def test_stop_reaches_a_loop_in_another_thread():
    stop = Stop()

    async def wait():
        event = stop.event()
        threading.Thread(target=stop.set).start()  # once the loop waits for it
        await asyncio.wait_for(event.wait(), timeout=PATIENCE)
        return "stopped"

    assert run_sync(wait()) == "stopped"
    assert stop.is_set()


def test_a_stop_that_came_first_is_heard_at_once_and_a_closed_loop_does_not_matter():
    stop = Stop()

    async def event():
        return stop.event()

    asyncio.run(event())
    stop.set()
    assert asyncio.run(event()).is_set()


def test_a_loop_in_a_thread_outlives_its_calls_and_ends_with_what_runs_in_it():
    thread = LoopThread()
    begun, ended = threading.Event(), []

    async def loop():
        return asyncio.get_running_loop()

    async def forever():
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.append(True)

    assert thread.run(loop()) is thread.run(loop()) is thread.loop
    with pytest.raises(LookupError, match="gone"):
        thread.run(raising())
    left = asyncio.run_coroutine_threadsafe(forever(), thread.loop)
    assert begun.wait(PATIENCE)
    thread.close()
    assert (left.cancelled(), ended) == (True, [True])
    assert thread._thread not in threading.enumerate()


async def raising():
    raise LookupError("gone")
