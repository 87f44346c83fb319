"""inspect_ai: a scorer whose value is the confidence an answer deserves.

`Task(dataset, solver, scorer=confidence(gate="gate.json"))`. A sample's metadata has its `passages`
and, where the input is a whole prompt, its `question`; the model's output is the reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.integrations.core import ReplyScorer, explained, missing

try:
    from inspect_ai.scorer import Score, mean, scorer
except ImportError as error:
    raise missing("inspect_ai", "inspect") from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState


def _confidence(**settings: Any) -> Callable[[TaskState, Target], Awaitable[Score]]:  # noqa: ANN401
    """Make the scorer; `settings` are those of `Scorer`, and the whole object is in the metadata.

    A reply that could not be read is unscored: it has no value, and metrics leave it out.
    """
    made = ReplyScorer(**settings)

    async def score(state: TaskState, _: Target) -> Score:
        about = state.metadata
        question = str(about.get("question") or state.input_text)
        verdict = made(question, about.get("passages"), state.output.completion)
        beside = {"explanation": explained(verdict), "metadata": {"novarag": dict(verdict)}}
        if verdict["confidence"] is None:
            return Score.unscored(reason="invalid_response_format", **beside)
        return Score(value=verdict["confidence"], answer=verdict["answer"], **beside)

    return score


confidence: Callable[..., Any] = scorer(metrics=[mean()], name="confidence")(_confidence)
