"""MLflow: confidences, decisions and evidence states as feedback on traces that are there.

The store is `server`, or what `MLFLOW_TRACKING_URI` says. MLflow gives feedback an id of its own,
so ours stands in its metadata, and what is there already is found by it and replaced.
"""

from __future__ import annotations

from asyncio import to_thread
from itertools import groupby
from typing import Any, Self

from novarag.calls import CallError, Outcome
from novarag.integrations.core import missing
from novarag.integrations.send_answers import OpenedSink, as_texts

try:
    import mlflow
    from mlflow.entities import AssessmentError, Feedback
except ImportError as error:
    raise missing("mlflow") from error

ID = "novarag.id"
_REFUSED = {"RESOURCE_DOES_NOT_EXIST", "NOT_FOUND", "INVALID_PARAMETER_VALUE"}


class MlflowTraces(OpenedSink):
    """Logs to a tracking store; an answer that could not be read has an error and no value."""

    most, needs, documents = 20, "trace", False

    def __init__(self, server: str | None = None) -> None:
        super().__init__(place=server or mlflow.get_tracking_uri())

    async def __aenter__(self) -> Self:
        self.at_end.callback(mlflow.set_tracking_uri, mlflow.get_tracking_uri())
        mlflow.set_tracking_uri(self.place)
        return self

    async def send(self, batch: Any) -> None:  # noqa: ANN401 - annotations
        """Log feedback trace by trace."""
        try:
            for trace, of_one in groupby(batch, lambda one: one.trace):
                await to_thread(_log, trace, list(of_one))
        except mlflow.MlflowException as error:
            outcome = Outcome.REFUSED if error.error_code in _REFUSED else Outcome.SERVER_ERROR
            raise CallError(outcome, str(error)[:300]) from None


def _log(trace: str, batch: Any) -> None:  # noqa: ANN401
    there = mlflow.MlflowClient().get_trace(trace, display=False).info.assessments
    known = {(one.metadata or {}).get(ID): one.assessment_id for one in there}
    for one in batch:
        said = {"value": None if one.unread else one.said, "rationale": one.comment or None}
        said["error"] = AssessmentError("UNREAD_REPLY", one.comment) if one.unread else None
        said |= {"span_id": one.span, "metadata": {ID: one.id, **as_texts(one.details)}}
        if one.id in known:
            mlflow.update_assessment(trace, known[one.id], Feedback(one.name, **said))
        else:
            mlflow.log_assessment(trace, Feedback(one.name, **said))
