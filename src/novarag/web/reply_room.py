"""How large replies may be: one by one, and those that are on their way together."""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from novarag.calls import Outcome
from novarag.web.failures import AttemptFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

ENCODINGS = "gzip, deflate"
"""The compressions we ask for and unfold."""
_SMALL = 262_144  # bytes that a reply may have without asking for room
_TOGETHER = 32_000_000  # bytes of large replies that are held at once in one sender


class ReplyRoom:
    """The bytes that replies on their way may take together, in one sender.

    A reply of up to 256 kB needs no room. A larger one waits until there is room for as much as it
    says it has, or for as much as it may have where it does not say.
    """

    def __init__(self, most: int = _TOGETHER) -> None:
        self._most, self._taken = most, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def hold(self, size: int) -> AsyncIterator[None]:
        """Wait for room and keep it as long as the block lasts; one alone always has room."""
        while self._taken and self._taken + size > self._most:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._taken += size
        try:
            yield
        finally:
            self._taken -= size
            while self._waiting:
                turn = self._waiting.popleft()
                if not turn.done():
                    turn.set_result(None)

    async def content(self, response: aiohttp.ClientResponse, most: int) -> bytes:
        """Read the content of a response: at most so many bytes, once they are unfolded."""
        unfold = _BoundedUnpacking(response.headers.get("Content-Encoding", ""))
        size = None if unfold.needed else response.content_length
        if size is not None and size > most:
            raise _too_long(most)
        if size is not None and size <= _SMALL:
            return await response.read()
        body = bytearray()
        async with AsyncExitStack() as stack:
            waited = False
            async for piece in response.content.iter_any():
                body += unfold(piece, most - len(body) + 1)
                if len(body) > most:
                    raise _too_long(most)
                if len(body) > _SMALL and not waited:
                    await stack.enter_async_context(self.hold(most if size is None else size))
                    waited = True
            unfold.end()
            return bytes(body)


class _BoundedUnpacking:
    """Undoes the compression of a reply, a piece at a time and never more than is wanted."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self.needed = self._encoding not in {"", "identity"}
        self._zip: zlib._Decompress | None = None
        if self.needed and self._encoding not in ENCODINGS.split(", "):
            raise AttemptFailure(
                Outcome.MALFORMED, "the reply is compressed in a way we did not ask for"
            )

    def __call__(self, piece: bytes, most: int) -> bytes:
        if not self.needed or not piece:
            return piece
        if self._zip is None:  # gzip or zlib, and what some servers call deflate: neither
            bare = self._encoding == "deflate" and piece[0] & 0x0F != zlib.DEFLATED
            self._zip = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        try:
            return self._zip.decompress(piece, most)
        except zlib.error:
            raise AttemptFailure(Outcome.MALFORMED, "the compressed reply is damaged") from None

    def end(self) -> None:
        """Complain about a compressed reply that is cut short."""
        if self._zip is not None and not self._zip.eof:
            raise AttemptFailure(Outcome.CUT_OFF, "the compressed reply is cut short")


def _too_long(most: int) -> AttemptFailure:
    return AttemptFailure(Outcome.MALFORMED, f"the reply is longer than {most:,} bytes")
