"""Langfuse: confidences, decisions and evidence states as scores of traces or observations.

The server is `server`, or `LANGFUSE_BASE_URL`; the keys are taken from `LANGFUSE_PUBLIC_KEY` and
`LANGFUSE_SECRET_KEY`. A score is known by its id and its time, both of which stay the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from novarag.calls import CallError, Outcome
from novarag.integrations.send_answers import OpenedSink, PostingSink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.integrations.send_answers import ToolAnnotation

PUBLIC, SECRET = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
CLOUD = "https://cloud.langfuse.com"


class Langfuse(OpenedSink):
    """Sends lists of scores; a server that takes no list gets one score at a time."""

    most, needs, documents = 50, "trace", False

    def __init__(self, server: str | None = None) -> None:
        named = os.environ.get("LANGFUSE_BASE_URL") or os.environ.get("LANGFUSE_HOST")
        place, path = server or named or CLOUD, "/api/public/scores"
        super().__init__(PostingSink(place, path, key_env=SECRET, user_env=PUBLIC))
        self._lists = True

    async def send(self, batch: Sequence[ToolAnnotation]) -> None:
        """Send scores; one that is sent again under its id and time replaces itself."""
        scores = [score_of(one) for one in batch]
        if self._lists:
            try:
                said = await self.posts[0].send(scores)
            except CallError as error:
                if error.outcome is not Outcome.REFUSED:
                    raise
                self._lists = False
            else:
                if isinstance(said, dict) and said.get("rejected"):
                    raise CallError(Outcome.REFUSED, str(said.get("errors"))[:300])
                return
        for one in scores:
            await self.posts[0].send(one)


def score_of(one: ToolAnnotation) -> dict[str, Any]:
    """Lay out a score: a number, or a category; what was not read is a category."""
    kind = "CATEGORICAL" if one.value is None else "NUMERIC"
    said = {"id": one.id, "name": one.name, "value": one.said, "dataType": kind}
    place = {"traceId": one.trace, "observationId": one.span, "timestamp": one.at}
    found = {**said, **place, "comment": one.comment, "metadata": dict(one.details)}
    return {name: value for name, value in found.items() if value not in (None, "", {})}
