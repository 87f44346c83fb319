"""MLflow: a scorer for `mlflow.genai.evaluate` whose feedback is the confidence of an answer.

`mlflow.genai.evaluate(data, scorers=[stated_confidence(gate="gate.json")])`. A row's `inputs` have
the `question` and its `passages`; `outputs` is the reply, or a dict with the `answer` and its
`confidence` (0 to 1).
"""

from __future__ import annotations

from typing import Any

import orjson

from novarag.integrations.core import ReplyScorer, explained, missing

try:
    from mlflow.entities import AssessmentError, Feedback
    from mlflow.genai.scorers import scorer
except ImportError as error:
    raise missing("mlflow") from error

NAME = "stated_confidence"
UNREAD = "UNREAD_REPLY"
"""The code of the error in the feedback on a reply that could not be read; it has no value."""


def stated_confidence(**settings: Any) -> Any:  # noqa: ANN401 - a ReplyScorer of MLflow's
    """Make the scorer; `settings` are those of `Scorer`.

    Where there is a gate, an answer passes that it lets through. The whole object stands in the
    feedback's metadata as JSON, under `novarag`.
    """
    ours = ReplyScorer(**settings)

    def score(inputs: dict[str, Any], outputs: Any) -> Any:  # noqa: ANN401
        given = outputs if isinstance(outputs, dict) else {"answer": outputs}
        said = given.get("reply", given.get("answer"))
        verdict = ours(inputs["question"], inputs.get("passages"), said, given.get("confidence"))
        why = verdict["reason"]
        unread = verdict["flaw"] and AssessmentError(error_code=UNREAD, error_message=why)
        return Feedback(
            name=NAME,
            value=verdict["confidence"],
            error=unread,
            rationale=explained(verdict),
            metadata={
                "novarag": orjson.dumps(verdict).decode(),
                "decision": verdict["decision"] or "none",
            },
        )

    return scorer(score, name=NAME, description="The confidence that an answer deserves.")
