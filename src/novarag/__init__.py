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
    from novarag.datasets.clean_card import BenchmarkFile
    from novarag.errors import (
        DataError,
        NovaragError,
        ServiceError,
        StorageError,
        UnknownName,
        UsageError,
    )
    from novarag.filters import funnel
    from novarag.flows.audit import audit_groups
    from novarag.flows.benchmark import Benchmark, rebuild_benchmark
    from novarag.flows.example import Example, write_example
    from novarag.flows.group import group_passages
    from novarag.flows.in_memory import Estimates, ask, estimate
    from novarag.flows.noise import (
        NoiseCount,
        NoiseResult,
        make_noise,
        make_noise_async,
        noise_prompts,
    )
    from novarag.flows.read import read_reply
    from novarag.flows.render import render
    from novarag.grading import grade
    from novarag.grouping import Mix, assemble, evidence_state
    from novarag.llm import ChatLLM, Endpoint, Patience, ScriptedLLM, parse_endpoint
    from novarag.metrics import METRICS, figures_frame, measure, tabulate
    from novarag.noise.audit import Audit
    from novarag.noise.group_build import GroupBuild
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
    "datasets.clean_card": ("BenchmarkFile",),
    "errors": (
        "DataError",
        "NovaragError",
        "ServiceError",
        "StorageError",
        "UnknownName",
        "UsageError",
    ),
    "filters": ("funnel",),
    "flows.audit": ("audit_groups",),
    "flows.benchmark": ("Benchmark", "rebuild_benchmark"),
    "flows.example": ("Example", "write_example"),
    "flows.group": ("group_passages",),
    "flows.in_memory": ("Estimates", "ask", "estimate"),
    "flows.noise": ("NoiseCount", "NoiseResult", "make_noise", "make_noise_async", "noise_prompts"),
    "flows.read": ("read_reply",),
    "flows.render": ("render",),
    "grading": ("grade",),
    "grouping": ("Mix", "assemble", "evidence_state"),
    "llm": ("ChatLLM", "Endpoint", "Patience", "ScriptedLLM", "parse_endpoint"),
    "metrics": ("METRICS", "figures_frame", "measure", "tabulate"),
    "noise.audit": ("Audit",),
    "noise.group_build": ("GroupBuild",),
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
    "AnswerForm",
    "Audit",
    "Benchmark",
    "BenchmarkFile",
    "CallError",
    "ChatLLM",
    "Completion",
    "Cost",
    "DataError",
    "Endpoint",
    "Estimates",
    "EvidenceState",
    "Example",
    "Flaw",
    "Grade",
    "GroupBuild",
    "GroupKind",
    "Heading",
    "Judgment",
    "Labels",
    "Method",
    "Mix",
    "Need",
    "NoiseCount",
    "NoiseResult",
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
    "ask",
    "assemble",
    "audit_groups",
    "estimate",
    "evidence_state",
    "figures_frame",
    "funnel",
    "grade",
    "group_passages",
    "load_answers",
    "load_benchmark",
    "load_groups",
    "make_noise",
    "make_noise_async",
    "measure",
    "noise_prompts",
    "parse_endpoint",
    "read",
    "read_reply",
    "rebuild_benchmark",
    "render",
    "tabulate",
    "take_answers",
    "write_example",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'novarag' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
