"""A default is the same on the command line, in TOML files and in Python."""

import dataclasses
import inspect
import subprocess
import sys

import pytest

import novarag
from novarag import defaults
from novarag.annotation import LEAST, agree, make_profile
from novarag.config.asking import EndpointSettings, ReplySettings
from novarag.config.experiment import (
    AnnotateSettings,
    CorpusSettings,
    IndexSettings,
    MeasureSettings,
    RetrieveSettings,
)
from novarag.config.grid import TableGrid
from novarag.config.pipeline import ExportSettings, FilterSettings, GroupSettings, NoiseSettings
from novarag.filters import Options
from novarag.flows.reproduce.cells import Precision
from novarag.metrics.measuring import measure_table
from novarag.metrics.mixing import reweigh
from novarag.noise import NoisePlan
from novarag.noise.audit import audit
from novarag.retrieval.chunks import cut
from novarag.retrieval.manifest import IndexManifest
from novarag.runner.access import Access
from novarag.runs import Settings
from novarag.runs.shard import Job
from novarag.sft.exporting import ExportOptions
from novarag.sft.train.settings import TrainingSettings
from novarag.study import analyse
from novarag.web.sending import Patience
from tests.support.verbs import verbs

VERBS = {
    "ask": (defaults.ACCESS, defaults.ASK),
    "run estimate": (defaults.ACCESS, defaults.ASK, defaults.MEASURE, defaults.ESTIMATE),
    "train noise": (defaults.ACCESS, defaults.ASK, defaults.NOISE),
    "paper reproduce": (defaults.ACCESS, defaults.TABLE), "answer": (defaults.DESK,),
    "retrieval annotate": (defaults.ANNOTATE, defaults.DESK), "measure": (defaults.MEASURE,),
    "paper study read": (defaults.MEASURE,), "train group": (defaults.GROUP,),
    "train audit": (defaults.GROUP,),
    "retrieval index": (defaults.INDEX,),
    "retrieval retrieve": (defaults.RETRIEVE, defaults.INDEX),
    "train filter": (defaults.FILTER,), "train export": (defaults.EXPORT,),
    "train fit": (defaults.TRAIN,),
}  # fmt: skip
OWN = {
    ("answer", "seed"), ("run estimate", "seed"), ("train export", "max_length"),
    ("train noise", "kinds"),
}  # fmt: skip
"""Options that are left out unless they are given."""
PYTHON = [
    (EndpointSettings, defaults.ACCESS), (Patience, defaults.ACCESS), (Job, defaults.ACCESS), (Access, defaults.ACCESS),
    (ReplySettings, defaults.ASK), (Settings, defaults.ASK), (MeasureSettings, defaults.MEASURE),
    (measure_table, defaults.MEASURE), (reweigh, defaults.MEASURE), (analyse, defaults.MEASURE),
    (AnnotateSettings, defaults.ANNOTATE), (make_profile, defaults.ANNOTATE), (agree, defaults.ANNOTATE),
    (TableGrid, defaults.TABLE), (Precision, defaults.TABLE), (NoiseSettings, defaults.NOISE),
    (NoisePlan, defaults.NOISE), (GroupSettings, defaults.GROUP), (audit, defaults.GROUP),
    (CorpusSettings, defaults.INDEX), (IndexSettings, defaults.INDEX), (IndexManifest, defaults.INDEX), (cut, defaults.INDEX),
    (RetrieveSettings, defaults.RETRIEVE), (FilterSettings, defaults.FILTER), (Options, defaults.FILTER),
    (ExportSettings, defaults.EXPORT), (ExportOptions, defaults.EXPORT), (TrainingSettings, defaults.TRAIN),
    (Access, defaults.ACCESS), (Access, defaults.ASK), (novarag.ask, defaults.ASK), (novarag.estimate, defaults.ASK),
    (novarag.measure, defaults.MEASURE), (novarag.read_rating_files, defaults.MEASURE),
    (novarag.annotate, defaults.ANNOTATE), (novarag.annotate, defaults.DESK),
    (novarag.build_index, defaults.INDEX), (novarag.retrieve, defaults.RETRIEVE),
    (novarag.filter_trials, defaults.FILTER), (novarag.reproduce, defaults.TABLE),
]  # fmt: skip


def told(where):
    """The defaults of a dataclass or a function, by name."""
    if dataclasses.is_dataclass(where):
        return {f.name: f.default for f in dataclasses.fields(where)}
    parameters = inspect.signature(where).parameters.items()
    return {name: p.default for name, p in parameters if p.default is not p.empty}


def shared(found, usual):
    return {name: value for name, value in dataclasses.asdict(usual).items() if name in found}


@pytest.mark.parametrize(("where", "usual"), PYTHON, ids=lambda x: getattr(x, "__name__", ""))
def test_python_and_files_say_the_same(where, usual):
    found = told(where)
    wanted = shared(found, usual)
    assert wanted
    assert {name: found[name] for name in wanted} == wanted


def test_a_passage_gets_a_kind_from_one_confidence_on():
    assert defaults.ANNOTATE.min_confidence == LEAST


@pytest.mark.parametrize("verb", VERBS)
def test_the_command_line_says_the_same(verb):
    found = {p.name: p.default for p in verbs()[tuple(verb.split())].params}
    for usual in VERBS[verb]:
        wanted = {n: v for n, v in shared(found, usual).items() if (verb, n) not in OWN}
        assert wanted
        assert {name: found[name] for name in wanted} == wanted


def test_they_bring_nothing_but_the_standard_library():
    code = (
        "import sys, novarag.defaults, novarag.config.asking;"
        "print(sorted({'numpy', 'polars', 'scipy', 'aiohttp', 'orjson'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
