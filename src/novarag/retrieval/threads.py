"""Calls to an index, which block, made from async code.

Whoever is cancelled waits until the call in flight has ended, so that an index is never closed
under a call.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from novarag.retrieval.milvus import MilvusIndex

_P = ParamSpec("_P")
_R = TypeVar("_R")


async def in_thread(work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a function in a thread, and wait for its end even where we are cancelled."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


@asynccontextmanager
async def opened(opens: Callable[[], MilvusIndex]) -> AsyncIterator[MilvusIndex]:
    """Open an index in a thread, and close it whatever happens, even while it was opened."""
    opening = asyncio.ensure_future(asyncio.to_thread(opens))
    try:
        index = await asyncio.shield(opening)
    except asyncio.CancelledError:
        await asyncio.wait([opening])
        if not opening.cancelled() and opening.exception() is None:
            opening.result().close()
        raise
    try:
        yield index
    finally:
        await in_thread(index.close)
