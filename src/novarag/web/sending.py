"""Sending requests to one or several servers until there is an answer, over aiohttp."""

from __future__ import annotations

import asyncio
import os
from base64 import b64encode
from dataclasses import dataclass
from itertools import count
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import aiohttp
from yarl import URL

from novarag.calls import Attempt, CallError, Outcome
from novarag.defaults import ACCESS
from novarag.errors import UsageError
from novarag.web.dispatcher import Dispatcher
from novarag.web.endpoint import refuse_shared_keys
from novarag.web.failures import AttemptFailure, heed, redirected, refusal, seconds
from novarag.web.redaction import Secrets
from novarag.web.reply_room import ENCODINGS, ReplyRoom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from novarag.calls import AttemptListener
    from novarag.web.dispatcher import EndpointQueue
    from novarag.web.endpoint import Endpoint

_Read = TypeVar("_Read")
_LONGEST_LIST = 4_000_000  # bytes of what a server says of itself, such as its list of models
_UNACTED = frozenset({Outcome.RATE_LIMITED, Outcome.UNREACHABLE})
_ACCEPTED = {"Accept-Encoding": ENCODINGS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait, how often to try again, and how many bytes a reply may have at most.

    What a model sends is held to less, which follows from `max_tokens` and `n`. With
    `unacted_only` a request is sent again only where nobody can have acted on it: there was no
    connection, or it was turned away for its rate.
    """

    concurrency: int = ACCESS.concurrency
    timeout: float = ACCESS.timeout
    attempts: int = ACCESS.attempts
    backoff: float = 0.5
    longest_backoff: float = 60.0
    largest_reply: int = 32_000_000
    unacted_only: bool = False

    def again(self, outcome: Outcome) -> bool:
        """Say whether a request with this outcome is sent again."""
        return outcome in _UNACTED if self.unacted_only else outcome.retryable


@dataclass(frozen=True, slots=True)
class _ExpectedReply(Generic[_Read]):
    """What is to be made of an answer, and how many bytes it may have."""

    read: Callable[[bytes], _Read]
    most: int


class Sender:
    """Posts to the same path of one or several endpoints, for use in `async with`.

    Each request goes to the least loaded endpoint. Rate limits, timeouts and lost connections are
    tried again, with growing pauses; what the server refuses is not. It may be entered more than
    once: the last to leave closes the connections. With a `user` the key is that user's password.
    """

    accepted = frozenset({200})
    """The statuses of an answer; any other is a refusal."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        path: str,
        *,
        patience: Patience | None = None,
        seed: int = 0,
        user: str | None = None,
    ) -> None:
        if not endpoints:
            raise UsageError("name at least one endpoint")
        self.patience = patience or Patience()
        self.dispatcher = Dispatcher(endpoints, self.patience.concurrency)
        refuse_shared_keys(endpoints)
        self._keys, self._user = {e: e.key() for e in endpoints}, user
        self.secrets = Secrets(key for key in self._keys.values() if key)
        self._room = ReplyRoom()
        self._places = {e: URL(f"{e.url}{path}") for e in endpoints}
        self._rng = Random(f"{seed} {os.urandom(8).hex()}")  # noqa: S311 - jitter, not a secret
        self._prefix, self._numbers = os.urandom(6).hex(), count()
        self._session: aiohttp.ClientSession | None = None
        self._users = 0

    async def __aenter__(self) -> Self:
        self._users += 1
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=self.patience.timeout, sock_connect=10.0),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # `reply_room` guards against decompression bombs
                trust_env=False,
            )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._users -= 1
        if self._users == 0 and self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def get(self, endpoint: Endpoint, path: str) -> tuple[int, bytes]:
        """Ask an endpoint once for what stands at a path; return status and content."""
        place = URL(f"{endpoint.url}{path}")
        try:
            status, _, content = await self._call(
                "GET", place, self._authority(endpoint), most=_LONGEST_LIST
            )
        except AttemptFailure as failure:
            raise CallError(failure.outcome, self.secrets.redact(failure.detail)) from None
        return status, content

    async def post(
        self,
        body: bytes,
        read: Callable[[bytes], _Read],
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
        most: int | None = None,
    ) -> tuple[_Read, str]:
        """Ask until there is an answer or no hope of one; return what was read, and the attempt.

        `read` raises `CallError` where the answer is not what was promised, and takes our keys out
        of what it keeps, with `secrets`; what is said of failures is free of them. `key` names the
        request, so that a server that honours idempotency keys charges once. `tell` hears of each
        attempt before it is sent, and of each that failed. `most` bounds the bytes of the answer.
        """
        largest = self.patience.largest_reply
        wanted = _ExpectedReply(read, min(largest, largest if most is None else most))
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        for number in range(1, self.patience.attempts + 1):
            queue = await self.dispatcher.enter()
            attempt = f"{self._prefix}-{next(self._numbers)}"
            try:
                content = self._attempt(queue, attempt, (headers, body, wanted), tell)
                return await content, attempt
            except AttemptFailure as failure:  # let go of at once: its traceback holds the reply
                outcome, detail, after = failure.outcome, failure.detail, failure.after
            if not self.patience.again(outcome) or number == self.patience.attempts:
                raise CallError(outcome, detail)
            await asyncio.sleep(self._pause(number, after))
        raise AssertionError("unreachable")

    async def _attempt(
        self,
        queue: EndpointQueue,
        attempt: str,
        request: tuple[dict[str, str], bytes, _ExpectedReply[_Read]],
        tell: AttemptListener | None,
    ) -> _Read:
        sent = monotonic()
        place = queue.endpoint.url
        settled = False
        try:
            if tell is not None:
                tell(Attempt(id=attempt, endpoint=place))
            reply = await self._send(queue.endpoint, attempt, *request)
            queue.pace.accepted(sent, monotonic())
            settled = True
        except AttemptFailure as failure:
            heed(queue, failure)
            settled = True
            if tell is not None:
                lost = Attempt(
                    id=attempt, endpoint=place, outcome=failure.outcome, detail=failure.detail
                )
                tell(lost)
            raise
        else:
            return reply
        finally:
            if not settled:
                queue.pace.gave_up()
            self.dispatcher.leave()

    def _pause(self, number: int, after: float | None) -> float:
        backoff = min(self.patience.backoff * 2.0 ** (number - 1), self.patience.longest_backoff)
        return max(backoff * self._rng.uniform(0.5, 1.0), after or 0.0)

    async def _send(
        self,
        endpoint: Endpoint,
        attempt: str,
        headers: dict[str, str],
        body: bytes,
        wanted: _ExpectedReply[_Read],
    ) -> _Read:
        own = headers | {"X-Request-Id": attempt} | self._authority(endpoint)
        place = self._places[endpoint]
        try:
            status, after, content = await self._call("POST", place, own, body, most=wanted.most)
            if status not in self.accepted:
                raise refusal(status, content, after)
            return wanted.read(content)
        except CallError as error:
            raise AttemptFailure(error.outcome, self.secrets.redact(error.detail)) from None
        except AttemptFailure as failure:
            clean = self.secrets.redact(failure.detail)
            raise AttemptFailure(failure.outcome, clean, failure.after) from None

    def _authority(self, endpoint: Endpoint) -> dict[str, str]:
        secret = self._keys[endpoint]
        if secret is None:
            return {}
        if self._user is not None:
            pair = b64encode(f"{self._user}:{secret}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {"Authorization": f"Bearer {secret}"}

    async def _call(
        self,
        method: str,
        url: URL,
        headers: dict[str, str],
        body: bytes | None = None,
        *,
        most: int,
    ) -> tuple[int, float | None, bytes]:
        if self._session is None:
            raise UsageError("open it first: `async with … as it:`")
        try:
            async with self._session.request(
                method, url, data=body, headers=headers | _ACCEPTED, allow_redirects=False
            ) as response:
                if 300 <= response.status < 400:
                    raise redirected(response)
                after = seconds(response.headers.get("Retry-After"))
                return response.status, after, await self._room.content(response, most)
        except aiohttp.ConnectionTimeoutError:
            raise AttemptFailure(Outcome.UNREACHABLE, f"cannot connect to {url} in 10 s") from None
        except TimeoutError:
            raise AttemptFailure(
                Outcome.TIMED_OUT, f"no reply in {self.patience.timeout:g} s"
            ) from None
        except aiohttp.ClientConnectorError as error:
            why = error.os_error.strerror or "no such host"
            raise AttemptFailure(Outcome.UNREACHABLE, f"cannot connect to {url} ({why})") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise AttemptFailure(Outcome.CUT_OFF, type(error).__name__) from None
