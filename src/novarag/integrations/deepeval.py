"""DeepEval: a metric whose score is the confidence an answer deserves.

`evaluate(test_cases, [StatedConfidence(gate="gate.json")])`. A test case's `input` is the question,
`retrieval_context` the passages and `actual_output` the reply; where `metadata` has a `confidence`
(0 to 1), `actual_output` is the answer that it belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.integrations.core import ReplyScorer, explained, missing

try:
    from deepeval.metrics import BaseMetric
except ImportError as error:
    raise missing("deepeval") from error

if TYPE_CHECKING:
    from deepeval.test_case import LLMTestCase


class StatedConfidence(BaseMetric):  # type: ignore[misc]
    """The confidence in an answer; it succeeds where a gate lets the answer through.

    `settings` are those of `Scorer`. Without a gate nothing succeeds or fails, and `evaluate` wants
    another metric beside it. A reply that could not be read has no score, and its flaw as `error`.
    """

    def __init__(self, scorer: ReplyScorer | None = None, **settings: Any) -> None:  # noqa: ANN401
        self.scorer = scorer or ReplyScorer(**settings)
        self.threshold, self.async_mode = self.scorer.threshold, False

    def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float | None:
        """Score a test case; the whole object is in `score_breakdown`."""
        passages = [getattr(p, "context", p) for p in test_case.retrieval_context or ()]
        stated = (test_case.metadata or {}).get("confidence")
        verdict = self.scorer(test_case.input, passages, test_case.actual_output, stated)
        self.score, self.score_breakdown = verdict["confidence"], dict(verdict)
        self.reason, self.error = explained(verdict), verdict["flaw"] and verdict["reason"]
        self.success = None if verdict["decision"] is None else verdict["decision"] == "answer"
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float | None:
        """Score a test case, as `measure` does."""
        return self.measure(test_case)

    def is_successful(self) -> bool | None:
        """Say what the gate decided; None without one."""
        return self.success

    @property
    def __name__(self) -> str:
        """Name the metric."""
        return "Stated confidence"
