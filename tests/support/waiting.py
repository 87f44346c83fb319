"""Waiting for what a test needs to have happened, however busy the machine is.

A test that sleeps and then looks holds on an idle machine alone. These wait for the thing itself;
the limit is there so that a test that can no longer pass ends, and is far above what any machine
needs.
"""

import asyncio
import time
from collections.abc import Callable

PATIENCE = 120.0


async def until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait inside an event loop until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        await asyncio.sleep(0.01)


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait outside an event loop until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.02)
