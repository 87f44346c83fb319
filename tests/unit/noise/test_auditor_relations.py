"""What the auditor sees between passages, beside the question, and how it says what it found.

`make prove NAME=auditor` does the same at 450 groups, with 200 clean draws.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.flows.group import write_groups
from novarag.grading import tokens
from novarag.noise.audit import CueFinding, ShortcutAudit, _most_telling, audit
from novarag.noise.group_build import GroupBuild
from novarag.noise.relations import GroupParts, pair_table, question_table, remainder_table
from novarag.noise.surface import CUES
from novarag.records import Passage
from novarag.stats.corrections import MaxStatistic, standard_errors
from novarag.stats.logistic import _descend, fit
from novarag.taxonomy import PassageKind
from tests.support.planted_cues import PLANTS, made_up_groups


@pytest.fixture
def relations_only(monkeypatch):
    """Leave out the cues that are slow, and blind to what is planted here."""
    kept = {name: CUES[name] for name in ("length", "length modulo", "pairs")}
    monkeypatch.setattr("novarag.noise.audit.CUES", kept)


@pytest.mark.usefixtures("relations_only")
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_relation_is_found_and_named(plant):
    cue = PLANTS[plant][0]
    found = audit(made_up_groups(0, plant=plant, groups=180))
    assert cue in {f.cue for f in found.shortcuts}
    assert found.worst(cue).accuracy > 0.95
    named = " ".join(t for f in found.shortcuts if f.cue == cue for t in f.telling)
    words = {
        "a shared sentence": "sentences shared: passages 1 and 2",
        "a shared run of 4 words": "runs of 3 words shared: passages 1 and 2",
        "the same last word": "the same last word: passages 1 and 2",
        "words modulo 3": "words of passage 1 modulo 3 is 0",
        "characters modulo 3": "characters of passage 2 modulo 3 is 0",
        "difference of words modulo 3": "words between passages 1 and 2 modulo 3 is 0",
    }
    assert words[plant] in named


@pytest.mark.usefixtures("relations_only")
def test_half_a_relation_is_found_and_chance_is_not():
    half = audit(made_up_groups(0, plant="the same last word", obeyed=0.5, groups=180))
    assert {f.cue for f in half.shortcuts} == {"pairs"}
    drawn = [audit(made_up_groups(seed, groups=90, k=3 + seed % 3)) for seed in range(6)]
    assert sum(bool(replace(a, margin=0.0).shortcuts) for a in drawn) <= 1


def test_the_questions_words_are_reported_and_do_not_gate(monkeypatch):
    kept = {name: CUES[name] for name in ("length", "question")}
    monkeypatch.setattr("novarag.noise.audit.CUES", kept)
    groups = [
        replace(
            g,
            passages=tuple(
                replace(p, text=f"{p.text} {g.question.text if p.kind is not R else ''}")
                for p in g.passages
            ),
        )
        for g in made_up_groups(0, groups=90)
    ]
    found = audit(groups)
    by = {f.kind: f for f in found.findings if f.cue == "question"}
    assert by["irrelevant"].auroc == pytest.approx(1.0)
    assert by["irrelevant"].low > 0.2
    assert not [f for f in found.shortcuts if f.cue == "question"]
    assert len(found.compared) == 4
    said = next(line for line in repr(found).splitlines() if line.startswith("question alone"))
    assert "irrelevant 1.00" in said
    assert said.endswith("evidence is about its question, so this is reported and does not gate")
    assert "100 % of the groups without evidence hold a passage relevant" in repr(found)
    assert found.topical == 1


def test_the_questions_words_may_not_tell_the_kinds_of_evidence_apart():
    """Groups without evidence are no part of it, whatever the words say of them."""
    groups = [
        replace(
            g,
            passages=tuple(
                replace(p, text=f"{p.text} {g.question.text if g.kind == 'consistent' else ''}")
                for p in g.passages
            ),
        )
        for g in made_up_groups(0, groups=90)
    ]
    [found] = [f for f in audit(groups).shortcuts if f.cue == "evidence"]
    assert (found.kind, found.majority) == ("counterfactual", 0.5)
    assert found.accuracy > 0.95
    assert found.auroc > 0.95
    assert all("question's words" in said for said in found.telling)
    alike = [f for f in audit(made_up_groups(0, groups=90)).findings if f.cue == "evidence"]
    assert [f.excess < 0.2 for f in alike] == [True]
    only = [g for g in groups if g.kind != "consistent"]
    assert "evidence" not in {f.cue for f in audit(only).findings}


R = PassageKind.RELEVANT


def parts(*texts):
    return GroupParts(texts, [tokens(t) for t in texts])


def test_what_a_pair_shares():
    group = parts("One red fox ran. It rained at dawn.", "It rained at dawn! Blue is dawn.", "")
    table, names = pair_table([group, parts("Alone.")], 3)
    seen = dict(zip(names, table[0], strict=True))
    assert seen["sentences shared: passages 1 and 2"] == 1
    assert seen["the same last word: passages 1 and 2"] == 1
    assert seen["the same first word: passages 1 and 2"] == 0
    assert seen["runs of 3 words shared: passages 1 and 2"] == pytest.approx(2 / 9)
    assert seen["words shared: passages 1 and 2"] == pytest.approx(4 / 10)
    assert seen["most sentences shared: passages 1 and 2"] == 1
    assert seen["most of sentences shared"] == 1
    assert seen["mean of sentences shared"] == pytest.approx(1 / 3)
    assert not any(value for name, value in seen.items() if name.endswith("3"))
    assert not table[1].any()
    assert pair_table([parts("Alone.")], 1)[0].shape == (1, 18)


def test_what_lengths_leave():
    table, names = remainder_table([parts("a b c d", "a b c"), parts("a")], 2)
    seen, lone = (dict(zip(names, row, strict=True)) for row in table)
    assert seen["words of passage 1 modulo 3 is 1"] == 1
    assert seen["words of passage 2 modulo 3 is 0"] == 1
    assert seen["characters of passage 1 modulo 5 is 2"] == 1
    assert seen["words of all passages modulo 7 is 0"] == 1
    assert seen["words between passages 1 and 2 modulo 4 is 1"] == 1
    assert lone["words of passage 1 modulo 2 is 1"] == 1
    assert not any(lone[name] for name in names if "passage 2" in name or "between" in name)


def test_what_a_question_shares():
    asked = [tokens("Who lit the reef?"), tokens("Who swam?")]
    table, names = question_table(asked, [parts("Who?", "They lit the reef."), parts("None.")])
    seen = dict(zip(names, table[0], strict=True))
    assert seen["most of the question's words in a passage"] == pytest.approx(2 / 2.5)
    assert seen["least of the question's words in a passage"] == pytest.approx(0.5 / 2.5)
    assert seen["the question's words in all passages together"] == 1
    assert not table[1].any()
    assert not question_table([[]], [parts("Some.")])[0].any()


def test_columns_are_chosen_by_how_far_kinds_differ():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 120)
    table = rng.normal(size=(120, 30))
    table[:, 17] += truth
    table[:, 3] = 1.0
    assert 17 in _most_telling(table, truth, 2)
    assert 3 not in _most_telling(table, truth, 29)
    assert _most_telling(table, truth, 30).tolist() == list(range(30))


def test_a_wide_table_is_fitted_in_the_span_of_its_rows():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 200))
    truth = (table[:, 0] > 0).astype(int) + (table[:, 1] > 1)
    model = fit(table, truth, 3, penalty=4.0)
    scaled = (table - model.mean) / model.scale
    slopes, offsets = _descend(scaled, np.eye(3)[truth], 4.0)
    assert np.allclose(model.slopes, slopes, atol=1e-4)
    assert np.allclose(model.offsets, offsets, atol=1e-4)


def test_intervals_widen_with_the_number_of_unlike_comparisons():
    rng = np.random.default_rng(0)
    moved = rng.normal(size=(4000, 20)) / 4000
    moved -= moved.mean(axis=0)
    one, many = MaxStatistic(moved[:, :1], seed=0), MaxStatistic(moved, seed=0)
    same = MaxStatistic(np.repeat(moved[:, :1], 20, axis=1), seed=0)
    assert one.width(0.95) == pytest.approx(1.96, abs=0.06)
    assert same.width(0.95) == pytest.approx(1.96, abs=0.06)
    assert many.width(0.95) == pytest.approx(3.02, abs=0.06)
    assert MaxStatistic(moved[:12], seed=0).width(0.95) > 3.4
    assert standard_errors(moved)[0] == pytest.approx(1 / np.sqrt(4000), rel=0.05)
    assert many.luck(0.0, 0.0) == 1
    assert many.luck(0.1, 0.0) < 0.001
    assert many.luck(3.02, 1.0) == pytest.approx(0.05, abs=0.01)
    assert MaxStatistic(np.zeros((10, 2)), seed=0).width(0.95) == 0


def finding(**more):
    told = {
        "cue": "words", "kind": None, "accuracy": 0.402, "majority": 0.333, "low": -0.008,
        "high": 0.146, "luck": 0.2,
    }  # fmt: skip
    return CueFinding(**{**told, **more})


def test_the_verdict_cannot_be_read_as_a_contradiction():
    """It read "+6.9 points (+1.4 to +12.5)", then "no cue beyond 5 points"."""
    shown = ShortcutAudit(
        findings=(finding(), finding(cue="length", accuracy=0.3, low=-0.1, high=0.03)),
        margin=0.05, groups=9, questions=3, left_out=0,
    )  # fmt: skip
    assert not shown.shortcuts
    assert repr(shown).splitlines()[-1] == (
        "no shortcut: a shortcut beats chance by more than 5 points and has an interval above 0 (95 %"
        " for all 2 comparisons of 2 cues at once, by max-statistic bootstrap); the largest is"
        " words, +6.9 points (-0.8 to +14.6)"
    )
    sure = replace(shown, findings=(finding(low=0.002), finding(cue="question", gates=False)))
    assert [f.cue for f in sure.shortcuts] == ["words"]
    assert repr(sure).splitlines()[-1].startswith("shortcuts in words: a shortcut beats")
    assert not replace(sure, margin=0.07).shortcuts


def test_two_processes_print_the_same(tmp_path):
    groups = [
        replace(g, passages=(*g.passages, Passage(text="Twin words stand here.", kind=R)))
        if g.kind == "irrelevant"
        else g
        for g in made_up_groups(0, groups=66)
    ]
    write_groups(GroupBuild(groups=groups), tmp_path / "groups.jsonl")
    command = ["train", "audit", str(tmp_path / "groups.jsonl"), "--json"]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = subprocess.run(
        [sys.executable, "-m", "novarag", *command],
        env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    here = CliRunner().invoke(app, command)
    assert other.stdout == here.output
    told = json.loads(here.output)
    assert (told["comparisons"], told["level"]) == (33, 0.95)
    assert {f["cue"] for f in told["findings"] if not f["gates"]} == {"question"}
