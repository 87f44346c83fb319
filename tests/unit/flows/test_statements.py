"""What `measure`, `calibrate` and `gate` say of a table is so: one test for each finding."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import novarag
from novarag import measure
from novarag.answers.opening.columns import Columns
from novarag.cli import app
from novarag.errors import UsageError
from novarag.metrics import METRICS
from novarag.metrics.remarks import LEVEL, telling_columns
from novarag.report import Heading, answer_first, to_html, to_markdown
from novarag.report.advice import need_text, reach
from novarag.report.calibration import calibration_notes
from novarag.report.gate import gate_notes
from novarag.report.verdict import strictest
from novarag.stats.corrections import holm
from tests.support.statement_tables import (
    answers_by_segment,
    answers_near_a_risk,
    log_with_unread_rows,
    misleading_halves,
    pooled_models,
)

HEADING = Heading(title="A title", sources=["a.csv"], made="2026-01-01", version="0", notes=[])


def said(found) -> str:
    return "\n".join([*answer_first(found), *found.notes])


def test_t1_unread_rows_without_a_grade_are_no_evidence():
    log = log_with_unread_rows()
    found = measure(log, replicates=150)
    panel = found.overall
    graded = log.filter(pl.col("correct").is_not_null())
    right = int(graded["correct"].sum())
    assert (panel.unread, panel.unread_graded, panel.ungraded) == (807, 213, 180)
    assert panel.bounds["accuracy"].at_zero == pytest.approx(right / graded.height)
    assert reach(panel).answers == graded.height == 1419
    assert "213 of them have a grade. Were those all wrong" in said(found)
    assert f"accuracy would be {100 * right / graded.height:.1f} %" in said(found)
    for page in (to_html(found, HEADING), to_markdown(found, HEADING)):
        assert "If every unread reply that has a grade were wrong" in page
    assert 'data-answers="1419"' in to_html(found, HEADING)


def test_t1_the_slider_and_the_table_keep_the_same_share():
    log = log_with_unread_rows(seed=3)
    found = measure(log, replicates=150)
    kept = reach(found.overall)
    certified = [c for c in found.decisions["all"].thresholds if c.threshold is not None]
    assert certified
    for c in certified:
        assert kept.kept[round(100 * c.threshold)] / kept.answers == pytest.approx(c.kept, abs=0.05)


def test_t1_calibrate_and_gate_count_unread_rows_as_measure_does():
    log = log_with_unread_rows()
    panel = measure(log, replicates=150).overall
    fitted = novarag.calibrate(log).fitted
    assert (fitted.unread, fitted.unread_graded) == (panel.unread, panel.unread_graded)
    assert fitted.ungraded == panel.ungraded
    counted = novarag.gate(log, risk=0.3).counted
    assert (counted.unread, counted.unread_ungraded) == (213, 594)
    assert counted.ungraded == panel.ungraded
    notes = " ".join(calibration_notes(novarag.calibrate(log)))
    assert "807 replies could not be read and taught it nothing. 213 of them have a grade." in notes
    assert "180 answers were read but not graded" in notes
    told = " ".join(gate_notes(novarag.gate(log, risk=0.3)))
    assert "774 rows that nobody graded were left out; 594 of these could not be read." in told


def test_t1_without_any_graded_unread_row_nothing_is_bounded():
    log = log_with_unread_rows(unread_graded=0)
    found = measure(log, replicates=150)
    assert found.overall.bounds == {}
    assert "None of them has a grade." in said(found)
    assert not re.search(r"all wrong, accuracy", said(found))


def test_t1_replies_that_gold_answers_would_have_graded_are_evidence():
    log = log_with_unread_rows(ungraded=0, unread_graded=0).with_columns(
        abstained=pl.when(pl.col("correct").is_not_null()).then(pl.lit(value=False))
    )
    panel = measure(log, replicates=150).overall
    assert panel.unread_graded == panel.unread == 594
    assert panel.bounds["accuracy"].at_zero < panel.figures["accuracy"].value


@pytest.fixture(scope="module")
def by_segment():
    return measure(answers_by_segment(), by="segment", replicates=300)


def test_t2_pairs_are_corrected_for_the_pairs_that_the_sentence_names(by_segment):
    for metric in ("accuracy", "brier", "ece", "auroc", "aurc"):
        pairs = [d for d in by_segment.differences if d.metric == metric]
        adjusted = holm(np.array([d.p for d in pairs]))
        assert len(pairs) == 10
        assert [d.p_holm for d in pairs] == adjusted.tolist()


def test_t2_every_figure_that_was_tested_is_named_and_every_difference_counted(by_segment):
    line = next(line for line in answer_first(by_segment) if "Pairs that differ" in line)
    assert "corrected for the 10 pairs of each figure by itself" in line
    for metric in ("accuracy", "brier", "ece", "auroc", "aurc"):
        pairs = [d for d in by_segment.differences if d.metric == metric]
        sure = sum(d.p_holm < 0.05 for d in pairs)
        title = METRICS[metric].title
        assert f"{title} {sure} of 10" in line if sure else title in line
    assert "Accuracy 3 of 10 (most surely east and west)" in line  # the planted worst is named
    assert "Brier 1 of 10" in line  # p 0.003, which a correction over all figures would hide
    assert "AURC 4 of 10" in line
    assert "0 of 10" not in line


def test_t2_where_nothing_differs_every_tested_figure_is_said_not_to():
    alike = answers_by_segment({"a": 0.6, "b": 0.6}, each=100, seed=1)
    found = measure(alike, by="segment", replicates=150)
    assert "not shown to differ in Accuracy, Brier, ECE, AUROC or AURC." in said(found)


TABLES = [log_with_unread_rows(), *(answers_near_a_risk(seed=seed) for seed in range(4))]


@pytest.mark.parametrize("table", TABLES)
def test_t8_measure_and_gate_say_the_same_of_the_same_rows(table):
    found = measure(table, replicates=150)
    for c in found.decisions["all"].thresholds:
        made = novarag.gate(table, risk=c.risk)
        assert (c.threshold, c.kept) == (made.threshold, made.share)
        line = next(line for line in answer_first(found) if f"At most {c.risk:.0%}"[:-1] in line)
        if made.threshold is None:
            assert "not attainable" in line
            assert need_text(c) in line
            assert c.need == made.need.rows
        else:
            assert f"answer at {100 * made.threshold:g} % or more" in line
            assert f"keeps {100 * made.share:.1f} % of the answers" in line


def test_t8_the_level_and_what_makes_a_gate_differ_are_said():
    found = measure(log_with_unread_rows(), replicates=150)
    for text in (said(found), to_html(found, HEADING), to_markdown(found, HEADING)):
        assert "with 90 % probability" in text
        assert "surer" in text
        assert "calibrated confidences, has others" in text


def test_t8_where_a_gate_refuses_the_rows_together_it_is_said():
    table = pooled_models("model")
    with pytest.raises(UsageError, match="3 values of 'model'"):
        novarag.gate(table, risk=0.3)
    found = measure(table, replicates=150)
    assert any("refuses these rows together" in note for note in found.notes)
    apart = measure(table, by="model", replicates=150)
    assert not any("refuses" in note for note in apart.notes)


def test_t8_groups_are_gated_by_themselves():
    table = answers_by_segment(each=300)
    found = measure(table, by="segment", replicates=150)
    for name, decisions in found.decisions.items():
        own = table.filter(pl.col("segment") == name)
        for c in decisions.thresholds:
            assert c.threshold == novarag.gate(own, risk=c.risk).threshold


def test_t9_a_threshold_whose_check_fails_is_no_advice():
    found = measure(misleading_halves(), replicates=150)
    at20 = next(c for c in found.decisions["all"].thresholds if c.risk == 0.2)
    assert at20.threshold == novarag.gate(misleading_halves(), risk=0.2).threshold == 0.9
    assert at20.half.error.value == pytest.approx(33 / 140)
    assert at20.failed
    assert at20.advised is None
    line = next(line for line in answer_first(found) if "At most 20 %" in line)
    assert "no threshold to advise" in line
    assert "23.6 % of the answers stated at 90 % or more are wrong" in line
    for text in (said(found), to_html(found, HEADING), to_markdown(found, HEADING)):
        assert "answer at 90 % or more, at most 20 %" not in text
        assert not re.search(r"At most 20 % wrong: answer at", text)
    html = to_html(found, HEADING)
    assert "no threshold to advise" in html


def test_t9_the_verdict_and_the_slider_pass_over_it():
    found = measure(misleading_halves(), replicates=150)
    decisions = found.decisions["all"]
    assert strictest(decisions).risk == 0.3
    only = replace(decisions, thresholds=tuple(c for c in decisions.thresholds if c.failed))
    assert only.thresholds
    assert strictest(only) is None
    assert reach(found.overall, only).start == reach(found.overall).start


@pytest.mark.parametrize("column", ["Modell", "extra.metadata.model", "k"])
def test_t10_a_column_that_changes_the_error_rate_is_named_by_every_verb(column):
    table = pooled_models(column)
    found = measure(table, replicates=150)
    lines = {
        f"by={column!r}": found.notes,
        f"state={column!r}": calibration_notes(novarag.calibrate(table)),
        f"`state={column!r}`": gate_notes(novarag.gate(table, risk=0.2)),
    }
    for proposed, notes in lines.items():
        line = next(line for line in notes if f"by column {column!r}" in line)
        assert "large" in line
        assert "small" in line
        assert "corrected for the 9 columns with few values" in line
        assert proposed in line
        assert not any("noise" in line for line in notes)


def test_t10_what_is_told_apart_already_is_not_named():
    table = pooled_models()
    apart = measure(table, by="Modell", replicates=150)
    assert not any("Modell" in note for note in apart.notes)
    columns = Columns(state="Modell")
    assert novarag.calibrate(table, columns=columns).fitted.remarks == ()


def test_t10_a_column_that_repeats_the_grade_or_the_confidence_is_not_named():
    table = pooled_models(rights={"one": 0.8}, noise=0).with_columns(
        verdict=pl.when("correct").then(pl.lit("good")).otherwise(pl.lit("bad")),
        bucket=pl.when(pl.col("confidence") > 0.9).then(pl.lit("high")).otherwise(pl.lit("low")),
    )
    assert telling_columns(table) == ()


def test_t10_models_in_a_file_are_named_with_the_flag(tmp_path):
    pooled_models().write_csv(tmp_path / "log.csv")
    place = str(tmp_path / "log.csv")
    named = {
        ("measure", place): "--by Modell",
        ("calibrate", place, "--out", str(tmp_path / "c.json")): "--state Modell",
        ("gate", place, "--risk", "30%", "--out", str(tmp_path / "g.json")): "--state Modell",
    }
    for words, flag in named.items():
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
        assert flag in done.output


def test_t10_noise_is_named_in_at_most_one_table_in_a_hundred():
    """200 tables of 20 columns that say nothing: five or more named has a chance under 5 %."""
    alike = {"a": 0.8, "b": 0.8}
    tables = (pooled_models(rights=alike, rows=200, noise=20, seed=seed) for seed in range(200))
    assert sum(bool(telling_columns(table)) for table in tables) <= 4
    assert LEVEL == 0.01


def test_t10_rows_of_one_question_are_taken_together():
    """Values that go with questions: rows alone would make a difference of a few questions sure."""
    rng = np.random.default_rng(0)
    named = 0
    for _ in range(60):
        right, half = rng.random(60) < 0.7, rng.integers(0, 2, 60)
        table = pl.DataFrame(
            {
                "question": np.repeat([f"q{i}" for i in range(60)], 8),
                "confidence": rng.choice([0.8, 0.9], 480),
                "correct": np.repeat(right, 8),
                "half": np.repeat(half, 8),
            }
        )
        named += bool(telling_columns(table))
    assert named <= 2
