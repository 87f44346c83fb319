"""Named instants at which a test may pull the plug. In use, nothing happens here."""

from __future__ import annotations

POINTS = (
    "plan written",
    "manifest written",
    "lease taken",
    "request journaled",
    "reply received",
    "reply journaled",
    "journal synced",
    "tables begun",
    "file half written",
    "file renamed",
    "tables written",
    "shard finished",
)


def reached(point: str) -> None:
    """Mark that an instant has come."""
