"""One upstream server: bounded, breakable, and honest about what came back."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Self

import aiohttp
from aiohttp.payload import BytesPayload

from novarag.calls import Outcome
from novarag.gateway.http.sse import EventCutter
from novarag.gateway.observe.logs import log_event
from novarag.gateway.observe.tracing import trace_upstream
from novarag.web.endpoint import parse_address
from novarag.web.failures import AttemptFailure
from novarag.web.redaction import Secrets
from novarag.web.reply_room import ENCODINGS, ReplyRoom

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from novarag.gateway.settings import UpstreamSettings

_PART = 16_384  # bytes of a stream that are taken at once
_TURN = 64  # events of a stream, after which others on the loop have their turn
_CONNECT = 5.0  # seconds
_LONGEST_WAIT = 3600  # seconds that a server can send a client away for
_LONGEST_KIND = 200  # characters of a `Content-Type`
_UNCOMPRESSED = {"Accept-Encoding": "identity"}


class UpstreamUnavailable(Exception):  # noqa: N818 - a state, not an accident
    """An upstream that gives no answer: the status that a client is told, the word of the log."""

    kind: ClassVar[str] = "Unavailable"

    def __init__(self, message: str, *, status: int = 502, after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.after = status, after


class UpstreamBusy(UpstreamUnavailable):
    """An upstream that has all the requests it may have at once; nothing is wrong with it."""

    kind = "Busy"


class UpstreamRefused(UpstreamUnavailable):
    """An upstream that turned down what it was sent, which says nothing against it."""

    kind = "Refused"


class CircuitBreaker:
    """Opens after some failures in a row, and lets one request try after a pause.

    What a client did wrong is no failure of the server.
    """

    def __init__(
        self, failures: int, cooldown: float, tell: Callable[[bool], None] = lambda _: None
    ) -> None:
        self._most, self._cooldown, self._tell = failures, cooldown, tell
        self._failed, self._until, self._trying = 0, 0.0, False

    @property
    def open(self) -> bool:
        """Say whether requests are kept away, but for one that tries now and then."""
        return self._failed >= self._most

    def admit(self, now: float) -> float | None:
        """Say how long to stay away; None lets a request through."""
        if not self.open:
            return None
        if now < self._until or self._trying:
            return max(self._until - now, 1.0)
        self._trying = True
        return None

    def succeeded(self) -> None:
        """Close."""
        was_open, self._failed, self._trying = self.open, 0, False
        if was_open:
            self._tell(False)

    def failed(self, now: float) -> None:
        """Count a failure of the server."""
        was_open, self._failed, self._trying = self.open, self._failed + 1, False
        if self.open:
            self._until = now + self._cooldown
            if not was_open:
                self._tell(True)

    def gave_up(self) -> None:
        """Let another try, where the caller left before there was an outcome."""
        self._trying = False


@dataclass(frozen=True, slots=True)
class UpstreamReply:
    """A whole reply of a server that answers or refuses; `after` is in seconds."""

    status: int
    kind: str
    body: bytes
    after: int | None = None


class UpstreamClient:
    """An upstream with its connections, its key and its breaker, for use in `async with`."""

    def __init__(self, settings: UpstreamSettings, *, largest: int, name: str = "") -> None:
        endpoint = parse_address(settings.url, key_env=settings.key_env)
        key = endpoint.key()
        self.name, self.settings = name, settings
        self.secrets = Secrets([key] if key else [])
        self.breaker = CircuitBreaker(settings.failures, settings.cooldown, self._tell)
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": ENCODINGS}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._url, self._largest = endpoint.url, largest
        self._room = ReplyRoom()
        self._place = UpstreamSlot(settings, self.breaker)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=self.settings.timeout, sock_connect=_CONNECT),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    @property
    def in_flight(self) -> int:
        """How many requests it has now."""
        return self._place.taken

    def _tell(self, is_open: bool) -> None:
        event, level = ("breaker_open", "warning") if is_open else ("breaker_closed", "info")
        log_event(event, level=level, upstream=self.name)

    def without_keys(self, content: bytes) -> bytes:
        """Take our key out of what is passed on; what holds none stays as it is, byte for byte."""
        if not self.secrets:
            return content
        text = content.decode("utf-8", "surrogateescape")
        clean = self.secrets.redact(text)
        return content if clean == text else clean.encode("utf-8", "surrogateescape")

    async def post(self, path: str, body: bytes) -> UpstreamReply:
        """Post and read the whole reply, whatever its status."""
        with self._place, trace_upstream(self.name) as trace:
            async with self._send(path, body, trace) as response:
                _check_status(response.status)
                return await self.whole(response)

    async def whole(self, response: aiohttp.ClientResponse) -> UpstreamReply:
        """Read the whole of a reply."""
        content = await self._room.content(response, self._largest)
        return UpstreamReply(
            response.status, _read_content_type(response), content, read_retry_after(response)
        )

    @asynccontextmanager
    async def stream(self, path: str, body: bytes) -> AsyncIterator[aiohttp.ClientResponse]:
        """Post and hand out the reply as it comes; a failing server is raised before that."""
        with self._place, trace_upstream(self.name) as trace:
            async with self._send(path, body, trace, compressed=False) as response:
                _check_status(response.status)
                yield response

    def _send(
        self, path: str, body: bytes, trace: dict[str, str], *, compressed: bool = True
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("open it first")
        return self._session.post(
            self._url + path,
            data=BytesPayload(body),
            headers=trace if compressed else _UNCOMPRESSED | trace,
            allow_redirects=False,
        )


class UpstreamSlot:
    """A place among the requests of an upstream, for use in `with`, by many at once.

    Whoever takes it may be turned away. How it is left tells the breaker, and what became of the
    connection is told as what it means for the client.
    """

    def __init__(self, settings: UpstreamSettings, breaker: CircuitBreaker) -> None:
        self._settings, self._breaker = settings, breaker
        self.taken = 0

    def __enter__(self) -> None:
        stay_away = self._breaker.admit(monotonic())
        if stay_away is not None:
            raise UpstreamUnavailable("the model's server is failing", status=503, after=stay_away)
        if self.taken >= self._settings.in_flight:
            self._breaker.gave_up()
            raise UpstreamBusy("the model's server is busy", status=503, after=1.0)
        self.taken += 1

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.taken -= 1
        if error is None or isinstance(error, UpstreamRefused):
            self._breaker.succeeded()
        elif isinstance(error, UpstreamUnavailable):
            self._breaker.failed(monotonic())
        elif isinstance(error, _FAILURES):
            self._breaker.failed(monotonic())
            raise _explain_failure(error, self._settings.timeout) from None
        else:
            self._breaker.gave_up()


_FAILURES = (aiohttp.ClientError, TimeoutError, ConnectionError, AttemptFailure)


async def read_events(response: aiohttp.ClientResponse, longest: int) -> AsyncIterator[bytes]:
    """Yield the events of a reply as they come, each whole.

    Events that are there already come without a wait, so the loop is given its turn now and then;
    and what was received is taken in small parts, since putting together many tiny chunks of HTTP
    takes its time too.
    """
    cutter, seen = EventCutter(longest), 0
    while piece := await response.content.read(_PART):
        try:
            for event in cutter.feed(piece):
                seen += 1
                if seen % _TURN == 0:
                    await asyncio.sleep(0)
                yield event
        except ValueError as error:
            raise UpstreamUnavailable(f"the model's server sent no proper reply: {error}") from None


def _check_status(status: int) -> None:
    """Let through what answers or refuses; no other status means anything to a client of ours."""
    if status == 200 or 400 <= status < 500:
        return
    if 300 <= status < 400:
        raise UpstreamUnavailable("the model's server sent us elsewhere")
    if status >= 500:
        raise UpstreamUnavailable(f"the model's server failed (HTTP {status})")
    raise UpstreamUnavailable(f"the model's server sent no proper reply (HTTP {status})")


def read_retry_after(response: aiohttp.ClientResponse) -> int | None:
    """Read `Retry-After`, at most an hour; None where it is no whole number of seconds."""
    said = response.headers.get("Retry-After", "")
    if not (said.isascii() and said.isdigit()):
        return None
    return _LONGEST_WAIT if len(said) > len(str(_LONGEST_WAIT)) else min(int(said), _LONGEST_WAIT)


def _read_content_type(response: aiohttp.ClientResponse) -> str:
    """Read `Content-Type`; what is none is said to be bytes, and never repeated."""
    said = response.headers.get("Content-Type", "application/json")
    sound = said.isascii() and said.isprintable() and "/" in said and len(said) <= _LONGEST_KIND
    return said if sound else "application/octet-stream"


def _explain_failure(error: Exception, timeout: float) -> UpstreamUnavailable:
    if isinstance(error, TimeoutError):
        return UpstreamUnavailable(f"no reply of the model's server in {timeout:g} s", status=504)
    if isinstance(error, aiohttp.ClientConnectorError):
        return UpstreamUnavailable("the model's server cannot be reached", status=503, after=1.0)
    if isinstance(error, AttemptFailure) and error.outcome is Outcome.MALFORMED:
        return UpstreamUnavailable(f"the model's server sent no proper reply: {error.detail}")
    return UpstreamUnavailable("the connection to the model's server was lost")
