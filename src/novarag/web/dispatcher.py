"""Who may send now, and where: the least loaded endpoint that has room."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from novarag.web.pace import EndpointPace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.web.endpoint import Endpoint


class EndpointQueue:
    """One endpoint and its pace."""

    __slots__ = ("endpoint", "pace")

    def __init__(self, endpoint: Endpoint, most: int) -> None:
        self.endpoint = endpoint
        self.pace = EndpointPace(most)


class Dispatcher:
    """Lets requests through, each to the endpoint that has the most room."""

    def __init__(self, endpoints: Sequence[Endpoint], most: int) -> None:
        self.queues = [EndpointQueue(endpoint, most) for endpoint in endpoints]
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def in_flight(self) -> int:
        """Return how many requests are under way."""
        return sum(queue.pace.in_flight for queue in self.queues)

    async def enter(self) -> EndpointQueue:
        """Wait for room; who entered must call one of the pace's closing methods, and `leave`."""
        while (queue := self._roomiest(monotonic())) is None:
            await self._wait()
        delay = queue.pace.depart(monotonic())
        if delay > 0:
            try:
                await asyncio.sleep(delay)
            except asyncio.CancelledError:
                queue.pace.gave_up()
                self.leave()
                raise
        return queue

    def leave(self) -> None:
        """Let in as many of those who wait as there may be room for."""
        now = monotonic()
        room = sum(
            max(int(queue.pace.limit) - queue.pace.in_flight, 0)
            for queue in self.queues
            if now >= queue.pace.resumes
        )
        while self._waiting and room > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                room -= 1
        if self._waiting and self._alarm is None:
            self._set_alarm(now)

    def _set_alarm(self, now: float) -> None:
        """Wake those who wait when a paused endpoint resumes."""
        pauses = [queue.pace.resumes - now for queue in self.queues if queue.pace.resumes > now]
        if pauses:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(min(pauses) + 0.001, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.leave()

    def _roomiest(self, now: float) -> EndpointQueue | None:
        best: EndpointQueue | None = None
        for queue in self.queues:
            if queue.pace.has_room(now) and (best is None or queue.pace.load < best.pace.load):
                best = queue
        return best

    async def _wait(self) -> None:
        """Wait until somebody leaves, or until a paused endpoint may be tried again."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        if self._alarm is None:
            self._set_alarm(monotonic())
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.leave()  # our turn had come: pass it on
            raise
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
