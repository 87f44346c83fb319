"""Running coroutines for callers that do not await: in a script, a notebook or a thread.

Neither form installs signal handlers. A door that wants to stop a verb gives it a `Stop`.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import update_wrapper
from inspect import signature
from threading import Thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_P = ParamSpec("_P")
_R = TypeVar("_R")


def run_sync(work: Coroutine[Any, Any, _R]) -> _R:
    """Run a coroutine to its end, wherever the caller is.

    Inside a running event loop, as in a notebook, it runs in a loop of its own in a thread.
    """
    return _run_in_thread(work) if _in_a_loop() else asyncio.run(work)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_in_thread(work: Coroutine[Any, Any, _R]) -> _R:
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def main() -> _R:
        task = asyncio.current_task()
        if task is not None:
            running.append((asyncio.get_running_loop(), task))
        return await work

    context = copy_context()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="novarag") as thread:
        future = thread.submit(context.run, lambda: asyncio.run(main()))
        try:
            return future.result()
        except KeyboardInterrupt:
            for loop, task in running:
                loop.call_soon_threadsafe(task.cancel)
            raise


class LoopThread:
    """An event loop in a thread of its own, for what must stay open between two calls."""

    def __init__(self) -> None:
        begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = Thread(
            target=lambda: asyncio.run(_until_told(begun)), name="novarag", daemon=True
        )
        self._thread.start()
        self.loop, self._end = begun.result()

    def run(self, work: Coroutine[Any, Any, _R]) -> _R:
        """Run a coroutine in the loop, and wait for it."""
        return wait_in(self.loop, work)

    def close(self) -> None:
        """End the loop; what still runs in it is cancelled."""
        self.loop.call_soon_threadsafe(self._end.set)
        self._thread.join()


async def _until_told(begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    end = asyncio.Event()
    begun.set_result((asyncio.get_running_loop(), end))
    await end.wait()


def wait_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, _R]) -> _R:
    """Run a coroutine in a loop of another thread, and wait for it."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


def synchronous(work: Callable[_P, Coroutine[Any, Any, _R]]) -> Callable[_P, _R]:
    """Make the form of an async function that needs no `await`; the body stays one."""

    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return run_sync(work(*args, **kwargs))

    update_wrapper(call, work)
    del call.__wrapped__  # type: ignore[attr-defined]  # or it would pass for a coroutine function
    call.__name__ = work.__name__.removesuffix("_async")
    call.__qualname__ = call.__name__
    call.__signature__ = signature(work)  # type: ignore[attr-defined]
    return call
