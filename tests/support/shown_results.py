"""One result of each kind that shows itself, and the same with somebody's name wherever one fits."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import novarag
from novarag.calibration.gate import RiskCoverage
from novarag.calibration.graded_answers import AnswerSource
from novarag.examples import EXAMPLE_GROUP

REPLY = """Passage Classifications: Passage 1: Highly Relevant
Passage 2: Irrelevant
Group Judgment: Consistent
Answer: 1871
Confidence: 70%"""


@cache
def plain_results():
    """Make one result of each kind, of simulated answers."""
    with TemporaryDirectory() as folder:
        table, pool = Path(folder, "answers.csv"), Path(folder, "pool.jsonl")
        novarag.write_example(table)
        novarag.write_example(pool)
        groups = novarag.group_passages(pool, k=3, audit=False).groups[:40]
        gate = novarag.gate(table, risk=0.6, confidence_level=0.9)
        return {
            "measurement": novarag.measure(table, by="system", replicates=50),
            "calibration": novarag.calibrate(table, columns=novarag.Columns(state="passages")),
            "gate": gate,
            "answer": novarag.answer("When?", ["1871.", "x"], lambda _: REPLY, gate=gate),
            "run": novarag.ask([EXAMPLE_GROUP], "nova", "simulated:base"),
            "comparison": novarag.compare(
                table, table, budgets={"brier": 0.02}, by="system", replicates=50
            ),
            "probe": novarag.probe(groups, "simulated:base", profile="quick"),
        }


def named(kind, name):
    """Return the result of a kind in which everything that others name has this name."""
    return _NAMED[kind](plain_results()[kind], name)


def _measurement(found, name):
    return replace(
        found, by=(name,), notes=(name,), overall=replace(found.overall, name=name),
        groups=tuple(replace(panel, name=name) for panel in found.groups),
    )  # fmt: skip


def _calibration(made, name):
    (state, seen), *_ = made.seen.items()
    return replace(
        made, states={name: made.states[state]}, seen={name: seen}, levels={},
        source=AnswerSource(model=name, prompt=name), fitted=replace(made.fitted, remarks=(name,)),
    )  # fmt: skip


def _gate(made, name):
    return replace(
        made, state=name, remarks=(name,), score=name, source=AnswerSource(model=name),
        kept=(RiskCoverage(0.1, 0.9, name, 0.5),),
        path=tuple(step._replace(states=name) for step in made.path),
    )  # fmt: skip


def _answer(found, name):
    group = found.trial.group
    passages = tuple(replace(passage, source=name) for passage in group.passages)
    trial = replace(found.trial, group=replace(group, passages=passages))
    return replace(found, question=name, answer=name, reason=name, notes=(name,), trial=trial)


def _run(run, name):
    settings = replace(run.settings, model=name, strategy=name)
    return replace(run, manifest=replace(run.manifest, settings=settings))


def _comparison(found, name):
    budgets = tuple(replace(one, group=name) for one in found.budgets)
    return replace(found, notes=(name,), budgets=budgets)


def _probe(found, name):
    return replace(found, system=name, profile=name)


_NAMED = {
    "measurement": _measurement, "calibration": _calibration, "gate": _gate, "answer": _answer,
    "run": _run, "comparison": _comparison, "probe": _probe,
}  # fmt: skip

KINDS = tuple(_NAMED)
"""The kinds of results that a notebook shows."""
