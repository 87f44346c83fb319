"""Calibrated confidence for retrieval-augmented language models.

The names below are the whole public face; each is loaded when it is first used, so that
`import novarag` and `novarag --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.calls import CallError, Cost, Outcome, Reply, Sampling, Usage
    from novarag.datasets import load_answers, load_benchmark, load_groups, take_answers
    from novarag.errors import (
        DataError,
        NovaragError,
        ServiceError,
        StorageError,
        UnknownName,
        UsageError,
    )
    from novarag.filters import funnel
    from novarag.flows.annotate import AnnotationResult, annotate, annotate_async
    from novarag.flows.in_memory import Estimates, ask, estimate
    from novarag.flows.index import IndexBuild, build_index, build_index_async
    from novarag.flows.retrieve import Retrieved, retrieve, retrieve_async
    from novarag.grading import grade
    from novarag.grouping import Mix, assemble, evidence_state
    from novarag.llm import ChatLLM, Endpoint, Patience, ScriptedLLM, parse_endpoint
    from novarag.metrics import METRICS, figures_frame, measure, tabulate
    from novarag.ports import LLM, Retriever
    from novarag.records import (
        AnswerForm,
        Completion,
        Flaw,
        Judgment,
        Passage,
        PassageGroup,
        Prompt,
        Question,
        Reading,
        Response,
        Trial,
    )
    from novarag.report import Heading, write_report
    from novarag.strategies import FORMATS, STRATEGIES, Labels, Strategy, read
    from novarag.taxonomy import (
        EvidenceState,
        Grade,
        GroupKind,
        PassageKind,
        Provenance,
        RelevantFacet,
        Rule,
        Utility,
    )
    from novarag.uncertainty import METHODS, Method, Need

__version__ = "0.1.0"

_ROOMS = {
    "calls": ("CallError", "Cost", "Outcome", "Reply", "Sampling", "Usage"),
    "datasets": ("load_answers", "load_benchmark", "load_groups", "take_answers"),
    "errors": (
        "DataError",
        "NovaragError",
        "ServiceError",
        "StorageError",
        "UnknownName",
        "UsageError",
    ),
    "filters": ("funnel",),
    "flows.annotate": ("AnnotationResult", "annotate", "annotate_async"),
    "flows.in_memory": ("Estimates", "ask", "estimate"),
    "flows.index": ("IndexBuild", "build_index", "build_index_async"),
    "flows.retrieve": ("Retrieved", "retrieve", "retrieve_async"),
    "grading": ("grade",),
    "grouping": ("Mix", "assemble", "evidence_state"),
    "llm": ("ChatLLM", "Endpoint", "Patience", "ScriptedLLM", "parse_endpoint"),
    "metrics": ("METRICS", "figures_frame", "measure", "tabulate"),
    "ports": ("LLM", "Retriever"),
    "records": (
        "AnswerForm",
        "Completion",
        "Flaw",
        "Judgment",
        "Passage",
        "PassageGroup",
        "Prompt",
        "Question",
        "Reading",
        "Response",
        "Trial",
    ),
    "report": ("Heading", "write_report"),
    "strategies": ("FORMATS", "STRATEGIES", "Labels", "Strategy", "read"),
    "taxonomy": (
        "EvidenceState",
        "Grade",
        "GroupKind",
        "PassageKind",
        "Provenance",
        "RelevantFacet",
        "Rule",
        "Utility",
    ),
    "uncertainty": ("METHODS", "Method", "Need"),
}
_HOMES = {name: f"novarag.{room}" for room, names in _ROOMS.items() for name in names}

__all__ = [
    "FORMATS",
    "LLM",
    "METHODS",
    "METRICS",
    "STRATEGIES",
    "AnnotationResult",
    "AnswerForm",
    "CallError",
    "ChatLLM",
    "Completion",
    "Cost",
    "DataError",
    "Endpoint",
    "Estimates",
    "EvidenceState",
    "Flaw",
    "Grade",
    "GroupKind",
    "Heading",
    "IndexBuild",
    "Judgment",
    "Labels",
    "Method",
    "Mix",
    "Need",
    "NovaragError",
    "Outcome",
    "Passage",
    "PassageGroup",
    "PassageKind",
    "Patience",
    "Prompt",
    "Provenance",
    "Question",
    "Reading",
    "RelevantFacet",
    "Reply",
    "Response",
    "Retrieved",
    "Retriever",
    "Rule",
    "Sampling",
    "ScriptedLLM",
    "ServiceError",
    "StorageError",
    "Strategy",
    "Trial",
    "UnknownName",
    "Usage",
    "UsageError",
    "Utility",
    "annotate",
    "annotate_async",
    "ask",
    "assemble",
    "build_index",
    "build_index_async",
    "estimate",
    "evidence_state",
    "figures_frame",
    "funnel",
    "grade",
    "load_answers",
    "load_benchmark",
    "load_groups",
    "measure",
    "parse_endpoint",
    "read",
    "retrieve",
    "retrieve_async",
    "tabulate",
    "take_answers",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'novarag' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
