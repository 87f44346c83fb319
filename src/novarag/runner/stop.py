"""A wish to stop, which may come from any thread or signal handler."""

from __future__ import annotations

import asyncio
from threading import Lock

from novarag.errors import UnfinishedError


class Stop:
    """A wish to stop, from any thread or signal handler.

    Nothing new is sent, what is in flight is waited for, and the verb returns what there is.
    """

    def __init__(self) -> None:
        self._wished = False
        self._lock = Lock()
        self._events: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._forks: list[Stop] = []

    def fork(self) -> Stop:
        """Return a stop that is set with this one, and can be set without it."""
        fork = Stop()
        with self._lock:
            self._forks.append(fork)
        if self._wished:
            fork.set()
        return fork

    def set(self) -> None:
        """Stop as soon as nothing is lost by it."""
        self._wished = True
        for fork in list(self._forks):
            fork.set()
        for loop, event in list(self._events):
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    def is_set(self) -> bool:
        """Say whether somebody wished to stop."""
        return self._wished

    def raise_if_set(self, place: str) -> None:
        """Raise `UnfinishedError` before a step that must not begin after a stop.

        Args:
            place: The folder of the story that goes on when it is called again.
        """
        if self._wished:
            raise UnfinishedError(place, stopped=True)

    def event(self) -> asyncio.Event:
        """Return an event of the running loop that is set with this."""
        event = asyncio.Event()
        with self._lock:
            self._events.append((asyncio.get_running_loop(), event))
        if self._wished:
            event.set()
        return event
