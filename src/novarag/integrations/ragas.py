"""ragas: a metric whose score is the confidence an answer deserves.

`evaluate(dataset, metrics=[StatedConfidence(gate="gate.json")])`. Of a sample, `user_input` is the
question, `retrieved_contexts` are the passages and `response` is the reply.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

from novarag.integrations.core import ReplyScorer, missing

try:
    from ragas.metrics.base import MetricOutputType, MetricType, SingleTurnMetric
except ImportError as error:
    raise missing("ragas") from error

if TYPE_CHECKING:
    from ragas.dataset_schema import SingleTurnSample
    from ragas.run_config import RunConfig


class StatedConfidence(SingleTurnMetric):  # type: ignore[misc]
    """The confidence in an answer; `settings` are those of `Scorer`.

    A reply that could not be read is NaN, which ragas leaves out of its means.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        columns = {"user_input", "response", "retrieved_contexts:optional"}
        super().__init__(
            name="stated_confidence", _required_columns={MetricType.SINGLE_TURN: columns}
        )
        self.output_type = MetricOutputType.CONTINUOUS
        self._score = ReplyScorer(**settings)

    def init(self, run_config: RunConfig) -> None:
        """Do nothing: no model is asked."""

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any) -> float:  # noqa: ANN401, ARG002
        verdict = self._score(sample.user_input, sample.retrieved_contexts, sample.response)
        return nan if verdict["confidence"] is None else verdict["confidence"]
