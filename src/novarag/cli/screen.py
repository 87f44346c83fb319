"""What a run looks like on a terminal: one line that moves, or plain lines where nothing can."""

from __future__ import annotations

import asyncio
import shutil
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from novarag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from novarag.runs.progress import Board, Progress

_PLAIN_EVERY = 10.0


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million prompt tokens, and for a million tokens of reply."""

    prompt: float
    completion: float

    def of(self, prompt: float, completion: float) -> float:
        """Return what so many tokens cost."""
        return (prompt * self.prompt + completion * self.completion) / 1e6


def parse_price(text: str | None) -> Price | None:
    """Read `IN:OUT`.

    >>> parse_price("0.15:0.6")
    Price(prompt=0.15, completion=0.6)
    """
    if text is None:
        return None
    before, found, after = text.partition(":")
    try:
        price = Price(float(before), float(after if found else before))
    except ValueError:
        raise UsageError(f"{text!r} is not a price: write IN:OUT per million tokens") from None
    if not (0 <= price.prompt < 1e6 and 0 <= price.completion < 1e6):
        raise UsageError(f"{text!r} is not a price: write IN:OUT per million tokens")
    return price


def duration(seconds: float) -> str:
    """Say a time roughly.

    >>> duration(42), duration(200), duration(7300)
    ('42 s', '3 min', '2 h 1 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


def status(now: Progress, requests: int, elapsed: float, price: Price | None) -> str:
    """Say in one line how far a run is: done, failed, in flight, tokens, money, time left."""
    fresh = now.settled - now.before
    tokens = now.completion_tokens - now.tokens_before
    parts = [
        f"{now.answered_requests:,} of {requests:,} done",
        f"{now.dead_requests:,} failed",
        f"{now.in_flight:,} in flight",
    ]
    if elapsed > 0 and fresh:
        parts.append(f"{tokens / elapsed:,.0f} tokens/s")
    if not now.in_flight and requests > now.settled and elapsed > 5:
        parts.append("waiting for the server")
    elif fresh and requests > now.settled:
        parts.append(f"{duration(elapsed / fresh * (requests - now.settled))} left")
    if price is not None:
        spent = price.of(now.prompt_tokens, now.completion_tokens)
        parts.append(f"{spent:,.2f} of about {spent * requests / max(now.settled, 1):,.2f}")
    return " · ".join(parts)


def bar(share: float, width: int = 20) -> str:
    """Draw a share of one.

    >>> bar(0.5, 8)
    '████░░░░'
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


class Meter:
    """How far a step is that has no requests: a line that moves, or one every ten seconds."""

    def __init__(self, what: str) -> None:
        self._what, self._live = what, sys.stderr.isatty()
        self._began = self._told = monotonic()

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    def show(self, seen: int, fresh: int) -> None:
        """Say how many were seen, and how fast those go that are new."""
        now = monotonic()
        if now - self._told < (0.2 if self._live else _PLAIN_EVERY):
            return
        self._told = now
        line = f"{seen:,} {self._what} · {fresh / (now - self._began):,.0f} new a second"
        sys.stderr.write(f"\r\x1b[2K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()


@asynccontextmanager
async def shown(board: Board, requests: int, price: Price | None) -> AsyncIterator[None]:
    """Show progress on standard error while something runs."""
    live = sys.stderr.isatty()
    task = asyncio.create_task(_show(board, requests, price, live=live))
    try:
        yield
    finally:
        task.cancel()
        if live:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


async def _show(board: Board, requests: int, price: Price | None, *, live: bool) -> None:
    start = monotonic()
    while True:
        await asyncio.sleep(0.2 if live else _PLAIN_EVERY)
        now = board.total()
        line = status(now, requests, monotonic() - start, price)
        if live:
            width = shutil.get_terminal_size().columns
            line = f"{bar(now.settled / max(requests, 1), 10)} {line}"
            sys.stderr.write("\r\x1b[2K" + line[: width - 1])
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()
