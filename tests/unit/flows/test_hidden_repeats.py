"""Rows of one question are one question however it is spelt, and odd tables get a remark."""

import numpy as np
import polars as pl
import pytest

import novarag
from novarag import compare, measure, pick_answers
from novarag.answers.opening.columns import Columns
from novarag.flows.events import TableRead
from novarag.metrics.remarks import find_oddities
from novarag.report.calibration import calibration_notes
from novarag.report.gate import gate_notes
from tests.support.statement_tables import hidden_repeats, log_with_unread_rows
from validation.statements import REPEATED, repeats


def test_m6_the_gates_promise_is_kept_on_hidden_repeats():
    """Of 30 or 200 questions a fifth is wrong: less may be certified in a tenth of the draws."""
    for questions, copies in REPEATED:
        shares = repeats(30, questions, copies)
        assert all(share <= 0.1 for share in shares["by text"].values())
        assert shares["each row"][0.15] > 0.1  # which is what texts are compared for


def test_m6_a_gate_on_hidden_repeats_is_that_of_the_questions():
    table = hidden_repeats(questions=200, copies=3, wrong=0.02)
    made = novarag.gate(table, risk=0.1)
    assert (made.counted.used, made.counted.questions) == (200, 200)
    assert made.threshold is not None


def test_m6_every_verb_counts_questions_and_not_spellings():
    table = hidden_repeats(questions=40)
    assert measure(table, replicates=150).overall.questions == 40
    assert novarag.calibrate(table).fitted.questions == 40
    assert novarag.gate(table, risk=0.3).counted.questions == 40
    log = table.with_columns(answer=pl.lit("thirty days"))
    assert pick_answers(log, n=500).questions == 40
    taken = []
    measure(table.to_dicts(), replicates=150, on_event=taken.append)
    lines = next(event for event in taken if isinstance(event, TableRead)).lines
    assert any("question: column 'question', 40 different in " in line for line in lines)


def test_m6_a_column_of_ids_says_otherwise():
    table = hidden_repeats(questions=40).with_row_index("id")
    columns = Columns(question="id")
    assert measure(table, columns=columns, replicates=150).overall.questions == 800
    assert novarag.gate(table, risk=0.3, columns=columns).counted.questions == 800


def test_m6_two_tables_are_paired_however_their_questions_are_spelt():
    new = hidden_repeats(questions=40, copies=3, seed=1)
    old = hidden_repeats(questions=40, copies=3, seed=2)
    found = compare(new, old, replicates=150)
    assert (found.paired.shared, found.paired.only_new, found.paired.only_old) == (40, 0, 0)


def test_m6_a_calibration_knows_its_questions_in_any_spelling():
    made = novarag.calibrate(hidden_repeats(questions=40, seed=1))
    with pytest.raises(Exception, match="40 of these questions were used to fit"):
        novarag.gate(hidden_repeats(questions=40, seed=2), risk=0.3, calibration=made)


def graded(n=400, *, seed=0):
    rng = np.random.default_rng(seed)
    stated = rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 1.0], n)
    return stated, rng.random(n) < stated


def table(questions, stated, right):
    return pl.DataFrame({"question": questions, "confidence": stated, "correct": right})


def remarks_of_all(frame):
    """What each verb says beside its figures."""
    found = measure(frame, replicates=150)
    yield " ".join(found.notes)
    yield " ".join(calibration_notes(novarag.calibrate(frame)))
    yield " ".join(gate_notes(novarag.gate(frame, risk=0.3)))


def test_m6_near_duplicates_that_share_their_grade_are_remarked_by_every_verb():
    stated, right = graded(80)
    people = [f"{one}{other}" for one in "abcdefgh" for other in "bcdfghjklm"]
    questions = [
        f"When did {name} sign the treaty of {name}ham {extra}".strip()
        for name in people
        for extra in ("", "please", "now", "exactly")
    ]
    frame = table(questions, np.repeat(stated, 4), np.repeat(right, 4))
    for said in remarks_of_all(frame):
        assert "320 of 320 questions differ from another by one word alone" in said
        assert "too sure" in said


def test_m6_questions_of_one_pattern_are_no_near_duplicates():
    stated, right = graded()
    questions = [f"When did person{i} sign the treaty of Utrecht?" for i in range(400)]
    assert find_oddities(table(questions, stated, right)).near is None


def test_m6_blocks_of_repeated_outcomes_are_remarked():
    stated, right = graded(40)
    names = [f"q{i}" for i in range(800)]
    runs = table(names, np.repeat(stated, 20), np.repeat(right, 20))
    assert find_oddities(runs).repeats == (20, False)
    again = table(names, np.tile(stated, 20), np.tile(right, 20))
    assert find_oddities(again).repeats == (40, True)
    for said in remarks_of_all(runs):
        assert "Confidence and grade repeat in blocks of 20 rows, under other questions" in said
    for said in remarks_of_all(again):
        assert "The same confidences and grades come again after 40 rows" in said


@pytest.mark.parametrize("seed", range(10))
def test_m6_sorted_and_plain_tables_get_no_remark(seed):
    stated, right = graded(seed=seed)
    plain = table([f"q{i}" for i in range(400)], stated, right)
    for frame in (plain, plain.sort("confidence"), plain.sort("correct", "confidence")):
        assert find_oddities(frame) == (None, None, 0, None)


def test_m6_a_confidence_that_is_the_grade_is_remarked():
    _, right = graded()
    frame = table([f"q{i}" for i in range(400)], right.astype(float), right)
    for said in remarks_of_all(frame):
        assert "All 400 confidences are 0 % or 100 % and say the grade itself" in said


def test_m6_a_table_in_which_only_right_answers_are_graded_is_remarked():
    frame = log_with_unread_rows(unread_graded=0).with_columns(
        correct=pl.when(pl.col("correct")).then(pl.lit(value=True))
    )
    found = measure(frame, replicates=150)
    assert "Every graded answer is right, and others have no grade" in " ".join(found.notes)
    assert "Every graded answer is right" in " ".join(gate_notes(novarag.gate(frame, risk=0.3)))
