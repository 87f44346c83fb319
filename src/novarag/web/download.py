"""Fetching a public file: no key, a known size and checksum, nothing kept that is not it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import aiohttp
from yarl import URL

from novarag.atomic import whole_file
from novarag.errors import ServiceError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from pathlib import Path

_PIECE = 1 << 16  # bytes held at a time
_REDIRECTS = 5  # in a row, after which a download is given up
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDownload:
    """A file on a server, and what it must be."""

    address: str
    size: int
    sha256: str


class _FailedAttempt(Exception):  # noqa: N818 - never leaves this module
    """An attempt that failed; `again` says whether another may do better."""

    def __init__(self, why: str, *, again: bool) -> None:
        self.why, self.again = why, again
        super().__init__(why)


async def download(
    wanted: FileDownload,
    place: Path,
    *,
    attempts: int = 3,
    pause: float = 1.0,
    timeout: float = 120.0,  # noqa: ASYNC109 - of each read, not of the whole
) -> None:
    """Fetch a file into a place, whole and with its checksum, or raise `ServiceError`.

    Redirects are followed to http and https, never from https to http. A server that fails for
    the moment is asked again; `timeout` bounds the wait for each part.
    """
    waiting = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=timeout)
    async with aiohttp.ClientSession(
        timeout=waiting,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        headers={"Accept-Encoding": "identity"},
    ) as session:
        for number in range(1, attempts + 1):
            try:
                await _attempt(session, wanted, place)
            except _FailedAttempt as refused:
                if not refused.again or number == attempts:
                    raise ServiceError(
                        f"{wanted.address} could not be fetched: {refused.why}",
                        retryable=refused.again,
                    ) from None
            else:
                return
            await asyncio.sleep(pause * 2 ** (number - 1))


async def _attempt(session: aiohttp.ClientSession, wanted: FileDownload, place: Path) -> None:
    try:
        url = URL(wanted.address)
        for _ in range(_REDIRECTS + 1):
            async with session.get(url, allow_redirects=False) as response:
                if 300 <= response.status < 400:
                    url = _redirected(url, response)
                    continue
                _check_status(response, wanted)
                await _write(response, wanted, place)
                return
    except TimeoutError:
        raise _FailedAttempt("the server did not answer in time", again=True) from None
    except aiohttp.ClientConnectorError as error:
        why = error.os_error.strerror or "no such host"
        raise _FailedAttempt(f"cannot connect to {error.host} ({why})", again=True) from None
    except (aiohttp.InvalidURL, ValueError):
        raise _FailedAttempt("this is no web address", again=False) from None
    except (aiohttp.ClientError, ConnectionError) as error:
        raise _FailedAttempt(f"the connection broke ({type(error).__name__})", again=True) from None
    raise _FailedAttempt(f"it redirects more than {_REDIRECTS} times", again=False)


def _redirected(url: URL, response: aiohttp.ClientResponse) -> URL:
    """Return where a server sends us, if we may go there."""
    given = response.headers.get("Location", "")
    try:
        target = url.join(URL(given))
    except ValueError:
        target = URL()
    if not given or target.scheme not in {"http", "https"} or not target.host:
        shown = plain_text(given, longest=100)
        raise _FailedAttempt(f"it redirects to {shown!r}, which is no web address", again=False)
    if url.scheme == "https" and target.scheme == "http":
        raise _FailedAttempt(f"it redirects from https to http ({target.host})", again=False)
    return target.with_user(None)


def _check_status(response: aiohttp.ClientResponse, wanted: FileDownload) -> None:
    if response.status != 200:
        raise _FailedAttempt(f"HTTP {response.status}", again=response.status in _BUSY)
    promised = response.content_length
    if promised is not None and promised > wanted.size:
        raise _FailedAttempt(f"it has {promised:,} bytes, not {wanted.size:,}", again=False)


async def _write(response: aiohttp.ClientResponse, wanted: FileDownload, place: Path) -> None:
    """Write what arrives into a draft, which takes its place only when it is the file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(place) as file:
        size, hashed = 0, sha256()
        async for piece in response.content.iter_chunked(_PIECE):
            size += len(piece)
            if size > wanted.size:
                raise _FailedAttempt(f"it has more than {wanted.size:,} bytes", again=False)
            hashed.update(piece)
            file.write(piece)
        if size < wanted.size:
            raise _FailedAttempt(f"it ended after {size:,} of {wanted.size:,} bytes", again=True)
        if hashed.hexdigest() != wanted.sha256:
            raise _FailedAttempt("its checksum is another", again=False)
