"""Feedback: whether an answer was right, kept by its id wherever the database is."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import orjson

from novarag.gateway.audit.rows import FeedbackRow, read_id_time
from novarag.gateway.http.connection import send_whole
from novarag.gateway.http.requests import BadRequest, FeedbackRequest, parse_body

if TYPE_CHECKING:
    from novarag.gateway.audit.recorder import AuditRecorder
    from novarag.gateway.http.connection import Send

_AHEAD = timedelta(minutes=5)  # clocks of two machines may differ
_FRESH = timedelta(minutes=1)  # an answer as young may be on its way from another gateway
_LOOKUP_PAUSES = (0.25, 0.5, 1.0)  # seconds to wait before looking for it again


async def serve_feedback(
    audit: AuditRecorder | None, body: bytes, send: Send, *, tenant: str = "default"
) -> None:
    """Keep what a user said of an answer; said twice it counts once, and the last word counts.

    An id that no answer of this tenant has is refused. Where that cannot be known, because the
    database is away or behind, feedback is kept and counts if there is such an answer; the reply
    says which of the two it is (`confirmed`).
    """
    request: FeedbackRequest = parse_body(FeedbackRequest, body)
    if audit is None:
        raise BadRequest(
            "this gateway keeps no audit, so there is nothing to say it of", status=404
        )
    made = _check_time(request.id, audit.settings.days)
    known = await _find_answer(audit, request.id, tenant, fresh=datetime.now(UTC) - made < _FRESH)
    if known is False:
        raise BadRequest("no answer here has this id", status=404, param="id")
    row = FeedbackRow(
        id=request.id, tenant=tenant, verdict=request.verdict, time_ms=int(time.time() * 1000)
    )
    kept = audit.record(row)
    said = {"id": request.id, "verdict": request.verdict, "kept": kept, "confirmed": bool(known)}
    await send_whole(send, 200 if kept else 503, orjson.dumps(said))


async def _find_answer(
    audit: AuditRecorder, identity: str, tenant: str, *, fresh: bool
) -> bool | None:
    """Look for an answer, for one that may be on its way a few times."""
    known = await audit.has_answer(identity, tenant)
    for pause in _LOOKUP_PAUSES if fresh else ():
        if known is not False:
            break
        await asyncio.sleep(pause)
        known = await audit.has_answer(identity, tenant)
    return known


def _check_time(identity: str, days: int) -> datetime:
    """Return when an answer was made; refuse times that none can be of: each makes a partition."""
    try:
        made = read_id_time(identity)
    except (OverflowError, ValueError, OSError):
        made = datetime.max.replace(tzinfo=UTC)
    now = datetime.now(UTC)
    if not now - timedelta(days=days) <= made <= now + _AHEAD:
        raise BadRequest(f"no answer of the last {days} days has this id", status=404, param="id")
    return made
