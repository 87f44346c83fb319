"""LlamaIndex: an evaluator whose score is the confidence an answer deserves.

`StatedConfidence(gate="gate.json").evaluate_response(query, response)`, or `BatchEvalRunner` with
many. `response` is the reply; beside a `confidence` (0 to 1) it is the answer that it belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.integrations.core import ReplyScorer, explained, missing

try:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
except ImportError as error:
    raise missing("llama-index-core", "llamaindex") from error

if TYPE_CHECKING:
    from collections.abc import Sequence


class StatedConfidence(BaseEvaluator):  # type: ignore[misc]
    """The confidence in an answer; it is passing where a gate lets the answer through.

    `settings` are those of `Scorer`. Without a gate nothing is passing or not. A reply that could
    not be read is an invalid result without a score, and `invalid_reason` says why.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        self._score = ReplyScorer(**settings)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """Do nothing: no prompt is sent."""

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> EvaluationResult:
        """Score a reply, or beside `confidence` an answer."""
        verdict = self._score(query or "", contexts, response, kwargs.get("confidence"))
        return EvaluationResult(
            query=query,
            contexts=contexts,
            response=response,
            score=verdict["confidence"],
            passing=None if verdict["decision"] is None else verdict["decision"] == "answer",
            feedback=explained(verdict),
            invalid_result=verdict["flaw"] is not None,
            invalid_reason=verdict["flaw"] and verdict["reason"],
        )
