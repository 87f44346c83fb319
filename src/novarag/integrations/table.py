"""The adapters: one row each, with the package it was tested with and what it builds on there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Adapter(NamedTuple):
    """One adapter: its tool, its module, and the surface of the tool that it needs.

    `extra` is what installs the tool, None where nothing need be, or no Python package does;
    `versions` what was tested; `sends` whether it sends to the tool's server instead of running
    inside the tool. `surface` has the parameters of each function of the tool that the adapter
    calls or that calls it, as `module:name`; a test says when they are no longer there.
    """

    name: str
    module: str
    extra: str | None
    package: str
    versions: str
    surface: Mapping[str, tuple[str, ...]]
    sends: bool = False


_HERE = "novarag.integrations"

ADAPTERS = {
    row.name: row
    for row in (
        Adapter(
            name="DeepEval",
            module=f"{_HERE}.deepeval",
            extra="deepeval",
            package="deepeval",
            versions="4.3.1",
            surface={
                "deepeval.metrics:BaseMetric.measure": ("self", "test_case"),
                "deepeval.metrics:BaseMetric.a_measure": ("self", "test_case"),
                "deepeval.metrics:BaseMetric.is_successful": ("self",),
                "deepeval.test_case:LLMTestCase": (
                    "input", "actual_output", "retrieval_context", "metadata",
                ),
            },
        ),
        Adapter(
            name="MLflow",
            module=f"{_HERE}.mlflow",
            extra="mlflow",
            package="mlflow",
            versions="3.17.2",
            surface={
                "mlflow.genai.scorers:scorer": ("func", "name", "description"),
                "mlflow.entities:Feedback": ("name", "value", "error", "rationale", "metadata"),
                "mlflow.entities:AssessmentError": ("error_code", "error_message"),
            },
        ),
        Adapter(
            name="LlamaIndex",
            module=f"{_HERE}.llamaindex",
            extra="llamaindex",
            package="llama-index-core",
            versions="0.14.25",
            surface={
                "llama_index.core.evaluation:BaseEvaluator.aevaluate": (
                    "self", "query", "response", "contexts",
                ),
                "llama_index.core.evaluation:EvaluationResult": (
                    "query", "contexts", "response", "passing", "feedback", "score",
                    "invalid_result", "invalid_reason",
                ),
            },
        ),
        Adapter(
            name="LlamaIndex-engine",
            module=f"{_HERE}.llamaindex_engine",
            extra="llamaindex",
            package="llama-index-core",
            versions="0.14.25",
            surface={
                "llama_index.core.base.base_query_engine:BaseQueryEngine": ("callback_manager",),
                "llama_index.core.base.base_query_engine:BaseQueryEngine._query": (
                    "self", "query_bundle",
                ),
                "llama_index.core.base.base_query_engine:BaseQueryEngine._aquery": (
                    "self", "query_bundle",
                ),
                "llama_index.core.base.response.schema:Response": (
                    "response", "source_nodes", "metadata",
                ),
                "llama_index.core.base.response.schema:AsyncStreamingResponse.get_response": (
                    "self",
                ),
            },
        ),
        Adapter(
            name="ragas",
            module=f"{_HERE}.ragas",
            extra="ragas",
            package="ragas",
            versions="0.4.3",
            surface={
                "ragas.metrics.base:SingleTurnMetric._single_turn_ascore": (
                    "self", "sample", "callbacks",
                ),
                "ragas.metrics.base:SingleTurnMetric.init": ("self", "run_config"),
                "ragas.dataset_schema:SingleTurnSample": (
                    "user_input", "retrieved_contexts", "response",
                ),
            },
        ),
        Adapter(
            name="inspect_ai",
            module=f"{_HERE}.inspect_confidence",
            extra="inspect",
            package="inspect-ai",
            versions="0.3.285",
            surface={
                "inspect_ai.scorer:scorer": ("metrics", "name"),
                "inspect_ai.scorer:Score": ("value", "answer", "explanation", "metadata"),
                "inspect_ai.scorer:Score.unscored": ("reason", "explanation", "metadata"),
            },
        ),
        Adapter(
            name="promptfoo",
            module=f"{_HERE}.promptfoo",
            extra=None,
            package="promptfoo",
            versions="0.121.20",
            surface={},
        ),
        Adapter(
            name="LangChain",
            module=f"{_HERE}.langchain_middleware",
            extra="langchain",
            package="langchain",
            versions="1.4.7",
            surface={
                "langchain.agents.middleware:AgentMiddleware.after_model": (
                    "self", "state", "runtime",
                ),
                "langchain.agents:create_agent": ("model", "tools", "middleware"),
            },
        ),
        Adapter(
            name="Haystack",
            module=f"{_HERE}.haystack",
            extra="haystack",
            package="haystack-ai",
            versions="3.4.0",
            surface={
                "haystack:Document.__init__": ("id", "content", "meta"),
                "haystack:default_to_dict": ("obj",),
            },
        ),
        Adapter(
            name="Langfuse",
            module=f"{_HERE}.langfuse",
            extra=None,
            package="langfuse",
            versions="5.0.4",
            sends=True,
            surface={
                "langfuse.api:CreateScoreRequest": (
                    "id", "trace_id", "observation_id", "name", "value", "data_type", "timestamp",
                    "comment", "metadata",
                ),
            },
        ),
        Adapter(
            name="Phoenix",
            module=f"{_HERE}.phoenix",
            extra=None,
            package="arize-phoenix",
            versions="20.26.1",
            sends=True,
            surface={
                "phoenix.server.api.routers.v1.spans:annotate_spans": ("request_body", "sync"),
                "phoenix.server.api.routers.v1.annotations:SpanAnnotationData": (
                    "span_id", "name", "annotator_kind", "result", "metadata", "identifier",
                ),
                "phoenix.server.api.routers.v1.annotations:SpanDocumentAnnotationData": (
                    "span_id", "document_position", "name", "annotator_kind", "result",
                ),
                "phoenix.server.api.routers.v1.annotations:AnnotationResult": (
                    "label", "score", "explanation",
                ),
            },
        ),
        Adapter(
            name="MLflow-traces",
            module=f"{_HERE}.mlflow_traces",
            extra="mlflow",
            package="mlflow",
            versions="3.17.2",
            sends=True,
            surface={
                "mlflow:MlflowClient.get_trace": ("self", "trace_id", "display"),
                "mlflow:log_assessment": ("trace_id", "assessment"),
                "mlflow:update_assessment": ("trace_id", "assessment_id", "assessment"),
                "mlflow.entities:Feedback": (
                    "name", "value", "error", "rationale", "metadata", "span_id",
                ),
                "mlflow.entities:AssessmentError": ("error_code", "error_message"),
            },
        ),
    )
}  # fmt: skip
"""Every adapter by its tool's name."""
