"""What a person sees who types the name of a result: a few lines with what matters."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from novarag import METHODS, Estimates, ExperimentResult, FilterResult, Reproduction
from novarag.calls import Cost
from novarag.filters import FilterTally
from novarag.flows.build import TrainingSetBuild
from novarag.flows.reproduce.cells import TableCell
from novarag.flows.reproduce.page import TableResult
from novarag.metrics import Measurement, Panel
from novarag.stats.figure import Figure

ESC = "\x1b[31m"


def panel(name):
    figures = {key: Figure(0.5, 0.4, 0.6, 900) for key in ("accuracy", "ece", "brier", "auroc")}
    return Panel(
        name=name, rows=1000, questions=900, read=990, ungraded=0, flaws={}, figures=figures
    )


def measurement(groups):
    return Measurement(
        overall=panel("all"), groups=tuple(panel(f"g{i}{ESC}") for i in range(groups)),
        macro={}, differences=(), by=("model",), replicates=10, seed=0,
    )  # fmt: skip


def tally(models=1):
    names = [f"m{i}{ESC}" for i in range(models)]
    return FilterTally(
        stages=("rules", "common"),
        total=Counter({(m, "consistent"): 1000 for m in names}),
        dropped=Counter({(m, "consistent", "rules", "wrong"): 400 for m in names}),
    )


def told(found):
    counts, reasons = list(found.counts()), list(found.all_reasons())
    return {"stages": found.stages, "counts": counts, "reasons": reasons}


def estimates():
    methods = tuple(list(METHODS.values())[:2])
    return Estimates(
        table=pl.DataFrame({"x": range(40)}), methods=methods, strategy="nova",
        costs={m.name: Cost(calls=20) for m in methods}, paid=Cost(calls=30),
        missing={methods[0].name: 3}, draws={},
    )  # fmt: skip


def filtered():
    return FilterResult(place=Path("kept"), trials=600, groups=90, tally=told(tally()))


def reproduction():
    cells = [TableCell(setting="s", dataset="d", system="x", failed=2)] * 3
    table = TableResult(name="table1", grid=SimpleNamespace(), command="", cells=cells)
    return Reproduction(page=Path("out/page.md"), tables=(table,))


def experiment():
    return ExperimentResult(
        report=Path("out/report.html"), measurement=measurement(40), runs={"nova": None}
    )


SHOWN = {
    "measurement": (measurement(40), ["by model", "all: 1,000 rows", "g4", "and 35 more groups"]),
    "panel": (panel("all"), ["Panel(all", "ece 0.500", "1,000 rows of 900 questions"]),
    "refused panel": (
        Panel(name="few", rows=2, questions=2, read=2, ungraded=0, flaws={}, refusal="too few"),
        ["few: 2 rows", "too few"],
    ),
    "tally": (tally(), ["total 1,000", "rules 600", "common 600", "of m0"]),
    "tally of many": (tally(9), ["total 9,000", "m3", "and 5 more"]),
    "tally of none": (FilterTally(("rules",)), ["total 0", "no model"]),
    "estimates": (estimates(), ["40 rows by nova", "20 calls", "missing", "together 30 calls"]),
    "filter": (filtered(), ["'kept'", "600 trials of 90 groups", "rules 600"]),
    "reproduction": (reproduction(), ["out/page.md", "6 answers missing", "table1 (3 rows)"]),
    "experiment": (experiment(), ["out/report.html", "nova", "accuracy 0.500"]),
    "build": (
        TrainingSetBuild(out=Path("set"), filtered=filtered(), ended="filter"),
        ["'set'", "filtered", "ended at filter", "600 trials"],
    ),
    "build to be": (TrainingSetBuild(out=Path("set")), ["nothing yet"]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_result_shows_itself_in_a_few_lines(name):
    result, words = SHOWN[name]
    shown = repr(result)
    assert len(shown.splitlines()) <= 8
    assert len(shown) < 1200
    assert [word for word in words if word not in shown] == []
    assert "\x1b" not in shown
