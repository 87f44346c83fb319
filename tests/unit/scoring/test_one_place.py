"""There is one place where a reply, or a row of a table, becomes a decision; a second is found."""

import ast
from pathlib import Path

import pytest

import novarag
from novarag.integrations.table import ADAPTERS

SOURCE_FOLDER = Path(novarag.__file__).parent
SCORING = "scoring/"
WORDS = {"abstain", "clarify"}  # "answer" is a word of many meanings
MADE = {"Answer", "Decision", "token_signal"}
"""What makes an answer or a gate's decision, and what gets the signal of an answer's tokens."""

ELSEWHERE = {
    "calibration/gate.py": {"Decision"},  # what a gate returns to the scorer
    "answers/opening/beside.py": {"token_signal"},  # of past replies, to fit calibrations on
    "flows/teacher_targets.py": {"token_signal"},
    "gateway/http/reply_models.py": WORDS,  # the words themselves, as a type
    "gateway/audit/codes.py": WORDS,  # and as numbers of a database
    "report/fragments.py": {"abstain", "clarify"},  # the sign that a notebook shows for each
}


def second_places(text):
    """Return what in a module decides or makes an answer, by the name of what it uses."""
    tree = ast.parse(text)
    renamed = {
        alias.asname: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    compared = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for part in (node.left, *node.comparators)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "decide":
            found.add("decide")
        elif isinstance(node, ast.Call):
            name = name_of(node.func)
            name = renamed.get(name, name)
            found |= {name} & MADE
            if name == "replace":
                found |= {f"replace {word.arg}" for word in node.keywords if word.arg == "decision"}
        elif isinstance(node, ast.Constant) and node not in compared and node.value in WORDS:
            found.add(node.value)
    return found


def name_of(function):
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def modules(folder=SOURCE_FOLDER):
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(SOURCE_FOLDER).as_posix(), path.read_text("utf-8")


def test_no_second_place_decides():
    found = {name: second_places(text) - ELSEWHERE.get(name, set()) for name, text in modules()}
    assert {n: made for n, made in found.items() if made and not n.startswith(SCORING)} == {}


def test_what_may_stand_elsewhere_stands_there():
    texts = dict(modules())
    for name, made in ELSEWHERE.items():
        assert made <= second_places(texts[name]), f"{name} needs no exception"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("chosen.decide(score, state)", "decide"),
        ("list(map(gate.decide, scores))", "decide"),
        ("word = 'answer' if score >= least else 'abstain'", "abstain"),
        ("import polars as pl\npl.when(x).then(pl.lit('clarify'))", "clarify"),
        ("Answer(answer=None)", "Answer"),
        ("from novarag.scoring import Answer as A\nA(answer=None)", "Answer"),
        ("gate_module.Decision(True, '')", "Decision"),
        ("replace(answer, decision=word)", "replace decision"),
        ("signals.token_signal('minimum', trial)", "token_signal"),
    ],
)
def test_a_second_place_is_found(text, made):
    assert second_places(text) == {made}


def test_what_only_asks_for_a_decision_is_none():
    assert second_places("made = answer.decision == 'abstain'\nf(decision=a.decision)") == set()


# — adapters: by construction —


def uses(text):
    """Return the names that a module calls, and the modules of ours that it imports to use."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and name_of(node.test) == "TYPE_CHECKING":
            node.body = []
    calls = [name_of(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    imported = {
        node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("novarag.")
    }
    return calls, imported


def scores_by_itself(text):
    """Say what of a scorer's work a module of `integrations` does without `ReplyScorer`."""
    calls, imported = uses(text)
    rooms = {f"novarag.{room}" for room in ("scoring", "calibration", "uncertainty")}
    found = {one for one in imported if any(f"{one}.".startswith(f"{room}.") for room in rooms)}
    return found | ({"Scorer", "score_trial", "stated_exchange"} & set(calls))


def test_every_adapter_asks_the_one_scorer():
    texts = dict(modules(SOURCE_FOLDER / "integrations"))
    for name, text in texts.items():
        if name != "integrations/core.py":
            assert scores_by_itself(text) == set(), name
    inside = [row for row in ADAPTERS.values() if not row.sends]
    assert len(inside) >= 9
    for row in inside:
        calls, _ = uses(texts[f"{row.module.removeprefix('novarag.').replace('.', '/')}.py"])
        assert calls.count("ReplyScorer") == 1, row.name
    calls, _ = uses(texts["integrations/core.py"])
    assert (calls.count("Scorer"), calls.count("score")) == (1, 1)


def test_an_adapter_that_scores_by_itself_is_found():
    assert scores_by_itself("from novarag.scoring import Scorer\nScorer(x)") == {
        "novarag.scoring",
        "Scorer",
    }
    assert scores_by_itself("from novarag.calibration.gate import Gate") == {
        "novarag.calibration.gate"
    }
