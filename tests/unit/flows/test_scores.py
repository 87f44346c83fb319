"""Scores in every verb: from a table with marks and no confidence to a gate."""

import polars as pl
import pytest

from novarag import (
    Columns,
    apply_calibration,
    apply_gate,
    calibrate,
    compare,
    gate,
    measure,
    pick_answers,
)
from novarag.errors import UsageError
from novarag.flows.calibrate import load_calibration
from tests.support.scored_answers import NAMES, draw_scored

SCORES = Columns(scores=("judge", "distance:lower"))


def scored_table(n=400, *, seed=0, **more):
    rows = draw_scored(n, seed=seed, **more)
    frame = pl.DataFrame(
        {
            "question": [rows.question_ids[i] for i in rows.question],
            "correct": rows.correct,
            **dict(zip(NAMES, rows.scores.values.T, strict=True)),
        }
    ).fill_nan(None)
    return frame.with_columns(confidence=rows.confidence) if rows.states_confidence else frame


def test_from_marks_to_a_gate_and_new_rows(tmp_path):
    made = gate(
        scored_table(900),
        risk=0.2,
        columns=SCORES,
        split=tmp_path / "c.json",
        out=tmp_path / "g.json",
    )
    assert made.threshold is not None
    new = scored_table(800, seed=1)
    decided = apply_gate(
        new.drop("correct"), tmp_path / "g.json", calibration=tmp_path / "c.json"
    ).with_columns(new["correct"])
    given = decided.filter(pl.col("decision") == "answer")
    assert given.height > 100
    assert 1 - given["correct"].mean() < 0.25
    assert "confidence" not in decided.columns


def test_a_calibration_names_the_scores_that_rows_lack(tmp_path):
    made = calibrate(scored_table(), columns=SCORES, out=tmp_path / "c.json")
    assert load_calibration(tmp_path / "c.json") == made
    assert [signal.lower for signal in made.fusion.signals] == [False, True]
    with pytest.raises(Exception, match="'distance'"):
        apply_calibration(scored_table().drop("distance"), tmp_path / "c.json")
    with pytest.raises(UsageError, match="distance"):
        apply_calibration(scored_table(), made, columns=Columns(scores=("judge",)))


def test_the_page_says_what_each_signal_adds_and_what_to_drop(tmp_path):
    columns = Columns(scores=("judge", "distance:higher", "noise"))
    made = calibrate(scored_table(), columns=columns, page=tmp_path / "c.html")
    from novarag.report.calibration import calibration_notes

    said = "\n".join(calibration_notes(made))
    assert "opposite of what was said of 'distance'" in said
    assert "Drop 'noise'" in said
    assert "better than one confidence for all answers" in said
    page = (tmp_path / "c.html").read_text()
    assert "What each signal adds" in page
    assert "adds nothing shown" in page
    assert "Fused score, %" in page
    assert "as stated" not in page


def test_names_of_signals_are_hostile_text(tmp_path):
    frame = scored_table().rename({"judge": "<img src=x onerror=alert(1)>"})
    columns = Columns(scores=("<img src=x onerror=alert(1)>",))
    calibrate(frame, columns=columns, page=tmp_path / "c.html")
    assert "<img" not in (tmp_path / "c.html").read_text()


def test_measure_makes_a_confidence_of_scores():
    found = measure(scored_table(), columns=SCORES, replicates=100)
    figures = found.overall.figures
    assert figures["auroc"].value > 0.75
    assert any(
        "cross-fitted" in note and "'distance' (lower is better" in note for note in found.notes
    )
    with pytest.raises(UsageError, match="calibrated already"):
        measure(scored_table(), columns=SCORES, calibrate=True, replicates=100)


def test_measure_sets_scores_beside_a_stated_confidence():
    found = measure(scored_table(stated=True), columns=SCORES, calibrate=True, replicates=100)
    assert len(found.groups) == 2


def test_measure_by_a_calibration_of_other_questions():
    made = calibrate(scored_table(), columns=SCORES)
    found = measure(scored_table(seed=1), calibration=made, replicates=100)
    assert found.overall.figures["auroc"].value > 0.75
    with pytest.raises(UsageError, match="were used to fit"):
        measure(scored_table(), calibration=made, replicates=100)


def test_a_gate_on_scores_alone_says_what_it_needs():
    with pytest.raises(UsageError, match=r"split='calibration.json'"):
        gate(scored_table(), risk=0.2, columns=SCORES)


def test_a_gate_on_stated_confidences_is_not_for_scores():
    made = gate(scored_table(stated=True).select("question", "correct", "confidence"), risk=0.4)
    with pytest.raises(UsageError, match="scores"):
        apply_gate(scored_table(), made, columns=SCORES)


def test_compare_holds_scores_of_both_sides():
    new, old = scored_table(), scored_table()
    assert not compare(new, old, columns=SCORES, replicates=100).fails
    worse = new.with_columns(pl.col("judge", "distance").shuffle(seed=1))
    assert compare(worse, old, columns=SCORES, budgets={"brier": 0.01}, replicates=100).fails


def test_pick_spreads_over_the_ranks_of_scores():
    log = scored_table(2000, missing=0.05).drop("correct").with_columns(answer=pl.lit("Paris"))
    picked = pick_answers(log, n=100, columns=SCORES)
    assert picked.picked == 100
    assert len(picked.strata) > 5
    assert picked.unread == 0
    assert {"judge", "distance"} <= set(picked.rows.columns)
