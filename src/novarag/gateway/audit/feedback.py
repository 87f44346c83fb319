"""Feedback: whether an answer was right, kept by its id wherever the database is."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import orjson

from novarag.gateway.audit.rows import FeedbackRow, time_of
from novarag.gateway.connection import send_whole
from novarag.gateway.requests import BadRequest, FeedbackRequest, parse

if TYPE_CHECKING:
    from novarag.gateway.audit.recording import Audit
    from novarag.gateway.connection import Send

_AHEAD = timedelta(minutes=5)  # clocks of two machines may differ


class Audited(Protocol):
    """What has an audit: a gateway, or the part of one that feedback needs."""

    audit: Audit | None


async def serve_feedback(
    gateway: Audited, body: bytes, send: Send, *, tenant: str = "default"
) -> None:
    """Keep what a user said of an answer; said twice it counts once, and the last word counts.

    The reply says that it is kept, not that there is such an answer: its row may still be on its
    way. Feedback counts only where the answer is of the same tenant.
    """
    request: FeedbackRequest = parse(FeedbackRequest, body)
    audit = gateway.audit
    if audit is None:
        raise BadRequest(
            "this gateway keeps no audit, so there is nothing to say it of", status=404
        )
    _check_time(request.id, audit.settings.days)
    row = FeedbackRow(
        id=request.id, tenant=tenant, verdict=request.verdict, time_ms=int(time.time() * 1000)
    )
    kept = audit.record(row)
    said = {"id": request.id, "verdict": request.verdict, "kept": kept}
    await send_whole(send, 200 if kept else 503, orjson.dumps(said))


def _check_time(identity: str, days: int) -> None:
    """Refuse ids of times that no answer can be of; each would make a partition."""
    try:
        made = time_of(identity)
    except (OverflowError, ValueError, OSError):
        made = datetime.max.replace(tzinfo=UTC)
    now = datetime.now(UTC)
    if not now - timedelta(days=days) <= made <= now + _AHEAD:
        raise BadRequest(f"no answer of the last {days} days has this id", status=404, param="id")
