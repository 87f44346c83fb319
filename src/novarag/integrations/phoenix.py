"""Phoenix: confidences as annotations of spans, judgments of passages as those of documents.

The server is `server`, or `PHOENIX_COLLECTOR_ENDPOINT`; a key is taken from `PHOENIX_API_KEY`. A
passage is the document of the same place in the retriever's span.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from novarag.calls import CallError, Outcome
from novarag.integrations.send_answers import OpenedSink, PostingSink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.integrations.send_answers import ToolAnnotation

KEY, SERVER, LOCAL = "PHOENIX_API_KEY", "PHOENIX_COLLECTOR_ENDPOINT", "http://localhost:6006"


class Phoenix(OpenedSink):
    """Sends to a server of Phoenix; what it has of the same name and identifier is replaced."""

    most, needs, documents = 200, "span", True

    def __init__(self, server: str | None = None) -> None:
        place = server or os.environ.get(SERVER) or LOCAL
        super().__init__(
            PostingSink(place, "/v1/span_annotations?sync=true", key_env=KEY),
            PostingSink(place, "/v1/document_annotations?sync=true", key_env=KEY),
        )

    async def send(self, batch: Sequence[ToolAnnotation]) -> None:
        """Send annotations of spans, then those of documents."""
        for documents, post in enumerate(self.posts):
            found = [_laid_out(one) for one in batch if (one.position is not None) == documents]
            try:
                if found:
                    await post.send({"data": found})
            except CallError as error:
                if "do not exist" not in error.detail:  # else a span is not there: refused, too
                    raise
                raise CallError(Outcome.REFUSED, error.detail) from None


def _laid_out(one: ToolAnnotation) -> dict[str, Any]:
    result = {"score": one.value, "label": one.label, "explanation": one.comment or None}
    said = {"name": one.name, "annotator_kind": "CODE", "span_id": one.span, "result": result}
    if one.position is not None:  # known by its place: an identifier is refused there
        return {**said, "document_position": one.position}
    return {**said, "identifier": one.id, "metadata": dict(one.details)}
