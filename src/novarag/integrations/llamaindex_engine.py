"""LlamaIndex: a query engine around yours, whose responses say what they are worth.

`ConfidentEngine(index.as_query_engine(), gate="gate.json", withheld="Ask us.").query(question)`.
The passages are the response's source nodes. A stream is read to its end before it is shown.
"""

from __future__ import annotations

from typing import Any

from novarag.integrations.core import ReplyScorer, missing

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.response.schema import AsyncStreamingResponse, Response
    from llama_index.core.base.response.schema import StreamingResponse as Streaming
    from llama_index.core.schema import MetadataMode, QueryBundle
except ImportError as error:
    raise missing("llama-index-core", "llamaindex") from error


class ConfidentEngine(BaseQueryEngine):  # type: ignore[misc]
    """Puts the object into `metadata["novarag"]` of each response of an engine.

    `settings` are those of `Scorer`. Where `withheld` is given, it stands in the place of every
    answer that the gate does not let through, and of every reply that could not be read.
    """

    def __init__(self, engine: Any, *, withheld: str | None = None, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(getattr(engine, "callback_manager", None))
        self._engine, self._withheld, self._score = engine, withheld, ReplyScorer(**settings)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {"engine": self._engine}

    def _query(self, query_bundle: QueryBundle) -> Response:
        found = self._engine.query(query_bundle)
        whole = found.get_response() if isinstance(found, Streaming) else found
        return self._with_verdict(query_bundle.query_str, whole)

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        found = await self._engine.aquery(query_bundle)
        streams = isinstance(found, AsyncStreamingResponse)
        whole = await found.get_response() if streams else found
        return self._with_verdict(query_bundle.query_str, whole)

    def _with_verdict(self, question: str, found: Any) -> Response:  # noqa: ANN401
        said = found.response or "" if isinstance(found, Response) else str(found)
        passages = [
            {"text": n.get_content(MetadataMode.NONE), "source": _source(n), "id": n.node_id}
            for n in (one.node for one in found.source_nodes)
        ]
        verdict = self._score(question, passages, said)
        held = verdict["decision"] == "abstain" and self._withheld is not None
        shown = self._withheld if held else said
        return Response(shown, found.source_nodes, {**(found.metadata or {}), "novarag": verdict})


def _source(node: Any) -> Any:  # noqa: ANN401
    return node.metadata.get("source") or node.metadata.get("file_name")
