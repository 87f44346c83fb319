"""Any OpenAI-compatible server, or several, over aiohttp."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from novarag.calls import GREEDY, Attempt, CallError, Outcome, Reply
from novarag.errors import UsageError
from novarag.llm.gate import Gate
from novarag.llm.wire import error_message, model_names, read_reply, request_body
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from novarag.calls import Sampling, Tell
    from novarag.llm.endpoint import Endpoint
    from novarag.llm.gate import Line

_DENIED = frozenset({401, 402, 403, 404})
_RETRIED = frozenset({408, 409})


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait, and how often to try again."""

    concurrency: int = 64
    timeout: float = 600.0
    attempts: int = 8
    backoff: float = 0.5
    longest_backoff: float = 60.0
    largest_reply: int = 64_000_000


class _Failure(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, outcome: Outcome, detail: str, after: float | None = None) -> None:
        self.outcome, self.detail, self.after = outcome, detail, after
        super().__init__(outcome)


class ChatLLM:
    """A model behind one or several OpenAI-compatible endpoints, for use in `async with`.

    Each request goes to the least loaded endpoint. Rate limits, timeouts and lost connections are
    tried again, with growing pauses; what the server refuses is not.
    """

    def __init__(
        self, endpoints: Sequence[Endpoint], *, patience: Patience | None = None, seed: int = 0
    ) -> None:
        if not endpoints:
            raise UsageError("name at least one endpoint")
        if len({e.model for e in endpoints}) > 1:
            names = ", ".join(sorted({e.model for e in endpoints}))
            raise UsageError(f"all endpoints must serve one model; these serve {names}")
        self.patience = patience or Patience()
        self.gate = Gate(endpoints, self.patience.concurrency)
        self._keys = {e: e.key() for e in endpoints}
        self._secrets = [s for key in self._keys.values() if key for s in _shapes(key)]
        self._places = {e: URL(f"{e.url}/chat/completions") for e in endpoints}
        self._rng = Random(f"{seed} {os.urandom(8).hex()}")  # noqa: S311 - jitter, not a secret
        self._prefix, self._numbers = os.urandom(6).hex(), count()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=self.patience.timeout, sock_connect=10.0),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def check(self) -> None:
        """Ask every endpoint what it serves, so that a wrong address or key shows at once."""
        for endpoint, secret in self._keys.items():
            headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
            try:
                status, _, content = await self._call("GET", URL(f"{endpoint.url}/models"), headers)
            except _Failure as failure:
                raise CallError(failure.outcome, failure.detail) from None
            if status in {401, 402, 403}:
                needs = f"is the key in {endpoint.key_env} right?"
                raise CallError(Outcome.DENIED, f"{endpoint.url} says HTTP {status}; {needs}")
            served = model_names(content) if status == 200 else []
            if served and endpoint.model not in served:
                shown = ", ".join(plain_text(name, longest=60) for name in served[:5])
                raise UsageError(f"{endpoint.url} serves {shown}, not {endpoint.model}")

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: Tell | None = None,
    ) -> Reply:
        """Ask until there is an answer, or no hope of one."""
        for number in range(1, self.patience.attempts + 1):
            line = await self.gate.enter()
            attempt = f"{self._prefix}-{next(self._numbers)}"
            try:
                return await self._attempt(line, attempt, (prompt, sampling, key), tell)
            except _Failure as failure:
                if not failure.outcome.retryable or number == self.patience.attempts:
                    raise CallError(failure.outcome, failure.detail) from None
                await asyncio.sleep(self._pause(number, failure.after))
        raise AssertionError("unreachable")

    async def _attempt(
        self,
        line: Line,
        attempt: str,
        request: tuple[str, Sampling, str | None],
        tell: Tell | None,
    ) -> Reply:
        sent = monotonic()
        place = line.endpoint.url
        settled = False
        try:
            if tell is not None:
                tell(Attempt(id=attempt, endpoint=place))
            reply = await self._send(line.endpoint, attempt, *request)
            line.pace.accepted(sent, monotonic())
            settled = True
        except _Failure as failure:
            _heed(line, failure)
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
                line.pace.gave_up()
            self.gate.leave()

    def _pause(self, number: int, after: float | None) -> float:
        backoff = min(self.patience.backoff * 2.0 ** (number - 1), self.patience.longest_backoff)
        return max(backoff * self._rng.uniform(0.5, 1.0), after or 0.0)

    async def _send(
        self, endpoint: Endpoint, attempt: str, prompt: str, sampling: Sampling, key: str | None
    ) -> Reply:
        headers = {"Content-Type": "application/json", "X-Request-Id": attempt}
        secret = self._keys[endpoint]
        if secret is not None:
            headers["Authorization"] = f"Bearer {secret}"
        if key is not None:
            headers["Idempotency-Key"] = key
        body = request_body(endpoint.model, prompt, sampling)
        place = self._places[endpoint]
        status, after, content = await self._call("POST", place, headers, body)
        if status != 200:
            raise _refusal(status, content, after)
        try:
            completions, usage = read_reply(content, sampling, endpoint.model)
        except CallError as error:
            raise _Failure(error.outcome, error.detail) from None
        return Reply(completions=completions, usage=usage, attempt=attempt)

    async def _call(
        self, method: str, url: URL, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[int, float | None, bytes]:
        if self._session is None:
            raise UsageError("open the model first: `async with ChatLLM(…) as llm:`")
        try:
            async with self._session.request(
                method, url, data=body, headers=headers, allow_redirects=False
            ) as response:
                if 300 <= response.status < 400:
                    raise _redirected(response)
                after = _seconds(response.headers.get("Retry-After"))
                return response.status, after, self._redacted(await self._content(response))
        except aiohttp.ConnectionTimeoutError:
            raise _Failure(Outcome.UNREACHABLE, f"cannot connect to {url} in 10 s") from None
        except TimeoutError:
            raise _Failure(Outcome.TIMED_OUT, f"no reply in {self.patience.timeout:g} s") from None
        except aiohttp.ClientConnectorError as error:
            why = error.os_error.strerror or "no such host"
            raise _Failure(Outcome.UNREACHABLE, f"cannot connect to {url} ({why})") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise _Failure(Outcome.CUT_OFF, type(error).__name__) from None

    def _redacted(self, content: bytes) -> bytes:
        """Take out our keys, which a server may echo as they are or escaped as JSON."""
        for secret in self._secrets:
            if secret in content:
                content = content.replace(secret, b"[key]")
        return content

    async def _content(self, response: aiohttp.ClientResponse) -> bytes:
        most, size = self.patience.largest_reply, response.content_length
        if size is not None and size <= most and "Content-Encoding" not in response.headers:
            return await response.read()
        pieces, size = [], 0
        async for piece in response.content.iter_any():
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise _Failure(Outcome.MALFORMED, f"the reply is longer than {most:,} bytes")
        return b"".join(pieces)


def _shapes(key: str) -> set[bytes]:
    """List the ways in which a server may write our key into JSON."""
    escaped = json.dumps(key)[1:-1]
    return {shape.encode() for shape in (key, escaped, escaped.replace("/", "\\/"))}


def _heed(line: Line, failure: _Failure) -> None:
    match failure.outcome:
        case Outcome.RATE_LIMITED:
            line.pace.rejected(monotonic(), failure.after)
        case (
            Outcome.SERVER_ERROR
            | Outcome.TIMED_OUT
            | Outcome.CUT_OFF
            | Outcome.UNREACHABLE
            | Outcome.MALFORMED
        ):
            line.pace.failed(monotonic())
        case _:
            line.pace.gave_up()


def _refusal(status: int, content: bytes, after: float | None) -> _Failure:
    detail = f"HTTP {status}: {error_message(content)}"
    if status == 429:
        return _Failure(Outcome.RATE_LIMITED, detail, after)
    if status >= 500 or status in _RETRIED:
        return _Failure(Outcome.SERVER_ERROR, detail, after)
    return _Failure(Outcome.DENIED if status in _DENIED else Outcome.REFUSED, detail)


def _redirected(response: aiohttp.ClientResponse) -> _Failure:
    try:
        target = urlsplit(response.headers.get("Location", "")).hostname
    except ValueError:
        target = "an address that is none"
    place = plain_text(target or "another path of the same host", longest=100)
    return _Failure(
        Outcome.REDIRECTED, f"the server redirects to {place}; give that address if it is meant"
    )


def _seconds(header: str | None) -> float | None:
    """Read Retry-After, in seconds or as a date; nonsense is left to the backoff."""
    if not header:
        return None
    try:
        value = float(header)
    except ValueError:
        try:
            value = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(value, 300.0) if value >= 0 else None
