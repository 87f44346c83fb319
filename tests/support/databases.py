"""Asking a real database in tests, and filling it through an audit."""

import asyncio
import time

import asyncpg

from novarag.gateway.audit.rows import FeedbackRow
from novarag.gateway.http.replies import draw_id
from tests.support.audited import row, settled
from tests.support.waiting import until


def asked(dsn, query, *values):
    """Return the rows of a query."""

    async def fetch():
        connection = await asyncpg.connect(dsn)
        try:
            return [tuple(found) for found in await connection.fetch(query, *values)]
        finally:
            await connection.close()

    return asyncio.run(fetch())


def with_connection(dsn, work):
    async def story():
        connection = await asyncpg.connect(dsn)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(story())


def recorded(made, kept, seconds=30.0):
    """Record rows and wait until they are committed."""

    async def story():
        async with made:
            for one in kept:
                assert made.record(one)
            await until(lambda: made.state().connected)  # it has looked for leftovers then
            await settled(made, seconds)
            return made.state()

    return asyncio.run(story())


def id_at(when):
    return draw_id(when.timestamp())


def said(identity, verdict="right", *, tenant="acme", at=1_000):
    return FeedbackRow(id=identity, tenant=tenant, verdict=verdict, time_ms=at)


async def load_rows(made, rate, seconds, kept):
    """Record rows at a rate."""
    begun = time.monotonic()
    while (now := time.monotonic() - begun) < seconds:
        while len(kept) < now * rate:
            one = row()
            assert made.record(one)
            kept.append(one.id)
        await asyncio.sleep(0.005)
