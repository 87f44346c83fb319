"""Haystack: a component after a generator, which tells what each reply is worth.

`pipeline.add_component("confidence", StatedConfidence(gate="gate.json"))`, then connect the
generator's `replies` and the retriever's `documents` to it.
"""

from __future__ import annotations

from typing import Any

from novarag.integrations.core import ReplyScorer, missing

try:
    from haystack import Document, component, default_to_dict
    from haystack.dataclasses import ChatMessage  # noqa: TC002 - Haystack looks at annotations
except ImportError as error:
    raise missing("haystack-ai", "haystack") from error


@component
class StatedConfidence:
    """Answers with their verdicts; `settings` are those of `Scorer`, files given by their paths.

    `answers` are what is to be shown: the answer read from each reply, and `withheld` in the place
    of one that the gate does not let through or that could not be read. `verdicts` are the objects.
    """

    def __init__(self, withheld: str = "", settings: dict[str, Any] | None = None) -> None:
        self.withheld, self.settings = withheld, settings or {}
        self._score = ReplyScorer(**self.settings)

    def to_dict(self) -> dict[str, Any]:
        """Write the component into a pipeline's file."""
        return default_to_dict(self, withheld=self.withheld, settings=self.settings)  # type: ignore[no-any-return]

    @component.output_types(answers=list[str], verdicts=list[dict[str, Any]])  # type: ignore[untyped-decorator]
    def run(
        self, query: str, replies: list[str | ChatMessage], documents: list[Document] | None = None
    ) -> dict[str, Any]:
        """Score each reply beside the documents."""
        found = [
            {"text": d.content or "", "source": d.meta.get("source"), "id": d.id}
            for d in documents or ()
        ]
        texts = [one if isinstance(one, str) else one.text for one in replies]
        judged = [self._score(query, found, text) for text in texts]
        shown = [
            self.withheld if one["decision"] == "abstain" else one["answer"] or "" for one in judged
        ]
        return {"answers": shown, "verdicts": [dict(one) for one in judged]}
