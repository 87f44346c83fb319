"""Calibrated confidence for retrieval-augmented language models.

    answer           one question beside its passages: answer, confidence, decision
    Answerer         the same for many questions, with one connection
    measure          how honest are stated confidences? verdict, thresholds, a page
    fit_calibration  from stated confidence to a probability
    set_gate         a threshold with a promise
    ask, estimate    a model asked many questions; uncertainty methods beside each other
    probe            what is proved of a system without a label
    annotate         what each passage is: support, another answer, related, unrelated

`novarag.__all__` is the whole public face; each name is loaded when it is first used, so that
`import novarag` and `novarag --help` stay quick. Modules below are not part of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from novarag.version import __version__ as __version__

if TYPE_CHECKING:
    from novarag.attacks.result import AttackResult
    from novarag.attacks.suite import Attack
    from novarag.calibration.calibration import Calibrated, Calibration
    from novarag.calibration.gain import Gain
    from novarag.calibration.gate import Decision, Gate
    from novarag.calls import CallError, Cost, Outcome, Reply, Sampling, Usage
    from novarag.datasets import Columns, load_answers, load_benchmark, load_groups, take_answers
    from novarag.datasets.clean_card import BenchmarkFile
    from novarag.errors import (
        DataError,
        NovaragError,
        ServiceError,
        StorageError,
        Unfinished,
        UnknownName,
        UsageError,
    )
    from novarag.filters import funnel
    from novarag.flows.access import Access
    from novarag.flows.annotate import AnnotationResult, annotate, annotate_async
    from novarag.flows.answer import answer, answer_async
    from novarag.flows.answerer import Answerer
    from novarag.flows.ask import ask, ask_async, preview_ask
    from novarag.flows.attack import attack, attack_async, preview_attack
    from novarag.flows.audit import audit_groups
    from novarag.flows.benchmark import Benchmark, rebuild_benchmark
    from novarag.flows.build import (
        TrainingSetBuild,
        build_training_set,
        build_training_set_async,
    )
    from novarag.flows.calibrate import (
        apply_calibration,
        fit_calibration,
        load_calibration,
        save_calibration,
    )
    from novarag.flows.compare import compare
    from novarag.flows.estimate import Estimates, estimate, estimate_async
    from novarag.flows.example import Example, write_example
    from novarag.flows.experiment import ExperimentResult, run_experiment, run_experiment_async
    from novarag.flows.export import Export, export_training_set
    from novarag.flows.filter import FilterResult, filter_trials
    from novarag.flows.gate import load_gate, save_gate, set_gate
    from novarag.flows.group import group_passages
    from novarag.flows.index import IndexBuild, build_index, build_index_async
    from novarag.flows.looping import Stop
    from novarag.flows.measure import measure
    from novarag.flows.noise import (
        NoiseCount,
        NoiseResult,
        make_noise,
        make_noise_async,
        noise_prompts,
    )
    from novarag.flows.pick import GradedTable, Picked, pick_answers, read_grades
    from novarag.flows.probe import (
        ProbePreview,
        ProbeResult,
        preview_probe,
        probe,
        probe_async,
    )
    from novarag.flows.public_data import (
        PreparedTable,
        PublicData,
        public_data,
        public_data_async,
    )
    from novarag.flows.read import read_reply
    from novarag.flows.render import render
    from novarag.flows.reproduce.reproducing import (
        Reproduction,
        reproduce,
        reproduce_async,
        run_table,
        run_table_async,
    )
    from novarag.flows.retrieve import Retrieved, retrieve, retrieve_async
    from novarag.flows.runs import (
        Recovery,
        iter_trial_tables,
        recover,
        recover_async,
        reread,
        summarise,
    )
    from novarag.flows.scoring import Answer
    from novarag.flows.serving import (
        check_serving,
        check_serving_async,
        serving_plan,
        start_serving,
    )
    from novarag.flows.study import make_rating_sheet, read_rating_files
    from novarag.flows.train import TrainingResult, train_model
    from novarag.gateway.adopting import Adopted, adopt_proposal
    from novarag.gateway.audit.retention import Exported
    from novarag.gateway.issuing import (
        GatewayKey,
        NewGatewayKey,
        add_gateway_key,
        list_gateway_keys,
        revoke_gateway_key,
    )
    from novarag.gateway.keeping import drop_audit, export_audit, forget_tenant
    from novarag.gateway.proposing import Proposal, propose_calibration, propose_gate
    from novarag.gateway.running import GatewayCheck, GatewayModel, check_gateway, serve_gateway
    from novarag.grading import grade
    from novarag.grouping import Mix, assemble, evidence_state
    from novarag.integrations.sending import Sent, send_answers, send_answers_async
    from novarag.llm import ChatLLM, Endpoint, Patience, ScriptedLLM, parse_endpoint
    from novarag.metrics import METRICS, figures_frame
    from novarag.noise.audit import Audit
    from novarag.noise.group_build import GroupBuild
    from novarag.ports import LLM, Retriever
    from novarag.presets.public_data import PublicFile, PublicSource, PublicTable
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
    from novarag.report.comparison import Comparison
    from novarag.rows import tabulate
    from novarag.runs import Run, open_run
    from novarag.sft.train.settings import TrainingSettings
    from novarag.strategies import FORMATS, STRATEGIES, Labels, Strategy, read
    from novarag.tables.unsettled import UnsettledTable
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

_ROOMS = {
    "attacks.result": ("AttackResult",),
    "attacks.suite": ("Attack",),
    "calibration.calibration": ("Calibrated", "Calibration"),
    "calibration.gain": ("Gain",),
    "calibration.gate": ("Decision", "Gate"),
    "calls": ("CallError", "Cost", "Outcome", "Reply", "Sampling", "Usage"),
    "datasets": ("Columns", "load_answers", "load_benchmark", "load_groups", "take_answers"),
    "datasets.clean_card": ("BenchmarkFile",),
    "errors": (
        "DataError",
        "NovaragError",
        "ServiceError",
        "StorageError",
        "Unfinished",
        "UnknownName",
        "UsageError",
    ),
    "filters": ("funnel",),
    "flows.export": ("Export", "export_training_set"),
    "flows.access": ("Access",),
    "flows.answer": ("answer", "answer_async"),
    "flows.answerer": ("Answerer",),
    "flows.scoring": ("Answer",),
    "flows.ask": ("ask", "ask_async", "preview_ask"),
    "flows.attack": ("attack", "attack_async", "preview_attack"),
    "flows.calibrate": (
        "apply_calibration",
        "fit_calibration",
        "load_calibration",
        "save_calibration",
    ),
    "flows.compare": ("compare",),
    "flows.estimate": ("Estimates", "estimate", "estimate_async"),
    "flows.gate": ("load_gate", "save_gate", "set_gate"),
    "flows.looping": ("Stop",),
    "flows.measure": ("measure",),
    "flows.pick": ("GradedTable", "Picked", "pick_answers", "read_grades"),
    "flows.probe": ("ProbePreview", "ProbeResult", "preview_probe", "probe", "probe_async"),
    "flows.public_data": ("PreparedTable", "PublicData", "public_data", "public_data_async"),
    "flows.reproduce.reproducing": (
        "Reproduction",
        "reproduce",
        "reproduce_async",
        "run_table",
        "run_table_async",
    ),
    "runs": ("Run", "open_run"),
    "flows.serving": ("check_serving", "check_serving_async", "serving_plan", "start_serving"),
    "flows.study": ("make_rating_sheet", "read_rating_files"),
    "flows.train": ("TrainingResult", "train_model"),
    "gateway.adopting": ("Adopted", "adopt_proposal"),
    "gateway.audit.retention": ("Exported",),
    "gateway.keeping": ("drop_audit", "export_audit", "forget_tenant"),
    "gateway.proposing": ("Proposal", "propose_calibration", "propose_gate"),
    "gateway.issuing": (
        "GatewayKey",
        "NewGatewayKey",
        "add_gateway_key",
        "list_gateway_keys",
        "revoke_gateway_key",
    ),
    "gateway.running": ("GatewayCheck", "GatewayModel", "check_gateway", "serve_gateway"),
    "integrations.sending": ("Sent", "send_answers", "send_answers_async"),
    "flows.annotate": ("AnnotationResult", "annotate", "annotate_async"),
    "flows.experiment": ("ExperimentResult", "run_experiment", "run_experiment_async"),
    "flows.filter": ("FilterResult", "filter_trials"),
    "flows.runs": (
        "Recovery",
        "iter_trial_tables",
        "recover",
        "recover_async",
        "reread",
        "summarise",
    ),
    "flows.index": ("IndexBuild", "build_index", "build_index_async"),
    "flows.retrieve": ("Retrieved", "retrieve", "retrieve_async"),
    "grading": ("grade",),
    "grouping": ("Mix", "assemble", "evidence_state"),
    "llm": ("ChatLLM", "Endpoint", "Patience", "ScriptedLLM", "parse_endpoint"),
    "metrics": ("METRICS", "figures_frame"),
    "flows.audit": ("audit_groups",),
    "flows.build": ("TrainingSetBuild", "build_training_set", "build_training_set_async"),
    "flows.benchmark": ("Benchmark", "rebuild_benchmark"),
    "flows.example": ("Example", "write_example"),
    "flows.group": ("group_passages",),
    "flows.noise": ("NoiseCount", "NoiseResult", "make_noise", "make_noise_async", "noise_prompts"),
    "flows.read": ("read_reply",),
    "flows.render": ("render",),
    "noise.audit": ("Audit",),
    "noise.group_build": ("GroupBuild",),
    "ports": ("LLM", "Retriever"),
    "presets.public_data": ("PublicFile", "PublicSource", "PublicTable"),
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
    "report.comparison": ("Comparison",),
    "rows": ("tabulate",),
    "sft.train.settings": ("TrainingSettings",),
    "strategies": ("FORMATS", "STRATEGIES", "Labels", "Strategy", "read"),
    "tables.unsettled": ("UnsettledTable",),
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
    "Access",
    "Adopted",
    "AnnotationResult",
    "Answer",
    "AnswerForm",
    "Answerer",
    "Attack",
    "AttackResult",
    "Audit",
    "Benchmark",
    "BenchmarkFile",
    "Calibrated",
    "Calibration",
    "CallError",
    "ChatLLM",
    "Columns",
    "Comparison",
    "Completion",
    "Cost",
    "DataError",
    "Decision",
    "Endpoint",
    "Estimates",
    "EvidenceState",
    "Example",
    "ExperimentResult",
    "Export",
    "Exported",
    "FilterResult",
    "Flaw",
    "Gain",
    "Gate",
    "GatewayCheck",
    "GatewayKey",
    "GatewayModel",
    "Grade",
    "GradedTable",
    "GroupBuild",
    "GroupKind",
    "Heading",
    "IndexBuild",
    "Judgment",
    "Labels",
    "Method",
    "Mix",
    "Need",
    "NewGatewayKey",
    "NoiseCount",
    "NoiseResult",
    "NovaragError",
    "Outcome",
    "Passage",
    "PassageGroup",
    "PassageKind",
    "Patience",
    "Picked",
    "PreparedTable",
    "ProbePreview",
    "ProbeResult",
    "Prompt",
    "Proposal",
    "Provenance",
    "PublicData",
    "PublicFile",
    "PublicSource",
    "PublicTable",
    "Question",
    "Reading",
    "Recovery",
    "RelevantFacet",
    "Reply",
    "Reproduction",
    "Response",
    "Retrieved",
    "Retriever",
    "Rule",
    "Run",
    "Sampling",
    "ScriptedLLM",
    "Sent",
    "ServiceError",
    "Stop",
    "StorageError",
    "Strategy",
    "TrainingResult",
    "TrainingSetBuild",
    "TrainingSettings",
    "Trial",
    "Unfinished",
    "UnknownName",
    "UnsettledTable",
    "Usage",
    "UsageError",
    "Utility",
    "add_gateway_key",
    "adopt_proposal",
    "annotate",
    "annotate_async",
    "answer",
    "answer_async",
    "apply_calibration",
    "ask",
    "ask_async",
    "assemble",
    "attack",
    "attack_async",
    "audit_groups",
    "build_index",
    "build_index_async",
    "build_training_set",
    "build_training_set_async",
    "check_gateway",
    "check_serving",
    "check_serving_async",
    "compare",
    "drop_audit",
    "estimate",
    "estimate_async",
    "evidence_state",
    "export_audit",
    "export_training_set",
    "figures_frame",
    "filter_trials",
    "fit_calibration",
    "forget_tenant",
    "funnel",
    "grade",
    "group_passages",
    "iter_trial_tables",
    "list_gateway_keys",
    "load_answers",
    "load_benchmark",
    "load_calibration",
    "load_gate",
    "load_groups",
    "make_noise",
    "make_noise_async",
    "make_rating_sheet",
    "measure",
    "noise_prompts",
    "open_run",
    "parse_endpoint",
    "pick_answers",
    "preview_ask",
    "preview_attack",
    "preview_probe",
    "probe",
    "probe_async",
    "propose_calibration",
    "propose_gate",
    "public_data",
    "public_data_async",
    "read",
    "read_grades",
    "read_rating_files",
    "read_reply",
    "rebuild_benchmark",
    "recover",
    "recover_async",
    "render",
    "reproduce",
    "reproduce_async",
    "reread",
    "retrieve",
    "retrieve_async",
    "revoke_gateway_key",
    "run_experiment",
    "run_experiment_async",
    "run_table",
    "run_table_async",
    "save_calibration",
    "save_gate",
    "send_answers",
    "send_answers_async",
    "serve_gateway",
    "serving_plan",
    "set_gate",
    "start_serving",
    "summarise",
    "tabulate",
    "take_answers",
    "train_model",
    "write_example",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'novarag' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
