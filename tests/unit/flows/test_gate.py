"""Gates from tables and back: set, kept, split from the calibration's questions."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

import novarag
from novarag import (
    Columns,
    DataError,
    UsageError,
    load_calibration,
    load_gate,
    save_gate,
)
from novarag.calibration.calibration_file import check_score, score_name
from novarag.flows.events import TableRead
from novarag.flows.gate import as_gate
from tests.support.graded_answers import draw_graded


def table(n: int = 400, seed: int = 0, boast: float = 0.2) -> pl.DataFrame:
    graded = draw_graded(n, seed=seed, boast=boast)
    return pl.DataFrame(
        {
            "question": graded.question_ids,
            "confidence": graded.confidence,
            "correct": graded.correct,
            "evidence": [graded.state_name(s) for s in graded.state],
        }
    )


def test_a_gate_is_set_kept_and_read_back(tmp_path):
    told = []
    made = novarag.gate(
        table(), risk=0.3, out=tmp_path / "g.json", page=tmp_path / "g.html", on_event=told.append
    )
    assert made.threshold is not None
    assert load_gate(tmp_path / "g.json") == made == as_gate(tmp_path / "g.json") == as_gate(made)
    assert isinstance(told[0], TableRead)
    assert [event.path.name for event in told[1:]] == ["g.json", "g.html"]
    save_gate(made, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "g.json").read_bytes()
    page = (tmp_path / "g.html").read_text()
    assert "<script" not in page
    assert page.count("<svg") == 1
    assert "What the gate promises" in page


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "g.json"
    novarag.gate(table(), risk=0.3, out=path)
    raw = path.read_bytes()
    for at in range(0, len(raw), len(raw) // 40):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        with pytest.raises(DataError, match=r"g\.json"):
            load_gate(path)
    with pytest.raises(UsageError, match="cannot read"):
        load_gate(tmp_path / "none.json")
    with pytest.raises(TypeError, match="Gate"):
        as_gate(3)


def test_one_call_splits_questions_between_calibration_and_gate(tmp_path):
    rows = pl.concat([table(), table()])  # each question twice
    gate = novarag.gate(rows, risk=0.3, split=tmp_path / "c.json")
    calibration = load_calibration(tmp_path / "c.json")
    assert calibration.fitted.questions == gate.counted.questions == 200
    assert calibration.fitted.rows == gate.counted.rows == 400
    assert gate.score == score_name(calibration) != "stated"
    with pytest.raises(UsageError, match="were used to fit"):
        novarag.gate(rows, risk=0.3, calibration=tmp_path / "c.json")
    with pytest.raises(UsageError, match="not both"):
        novarag.gate(rows, risk=0.3, calibration=calibration, split=tmp_path / "d.json")


def test_the_score_may_be_that_of_a_calibration_of_other_questions():
    other = novarag.calibrate(table(seed=5, boast=1.0))
    gate = novarag.gate(table(boast=1.0), risk=0.4, calibration=other)
    check_score(gate, other)
    assert gate.threshold not in {0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0}
    with pytest.raises(UsageError, match="another calibration"):
        check_score(gate, None)
    with pytest.raises(UsageError, match="stated confidences"):
        check_score(novarag.gate(table(), risk=0.3), other)


def test_a_live_score_at_the_threshold_passes_as_the_rows_did():
    other = novarag.calibrate(table(seed=5, boast=1.0))
    rows = table(boast=1.0)
    gate = novarag.gate(rows, risk=0.4, calibration=other)
    passed = sum(
        gate.decide(other.one(confidence, state).probability, state).answer
        for confidence, state in zip(rows["confidence"], rows["evidence"], strict=True)
    )
    assert passed == round(gate.share * rows.height)


def test_by_state_needs_that_state():
    made = novarag.gate(table(), risk=0.3, by_state=True)
    assert {step.states for step in made.path} == {"all", "consistent"}
    named = novarag.gate(table(), risk=0.3, by_state="conflicting")
    assert {step.states for step in named.path} == {"all", "conflicting"}
    with pytest.raises(UsageError, match="'consistent'"):
        novarag.gate(table().drop("evidence"), risk=0.3, by_state=True)


def test_what_cannot_be_used_is_counted():
    rows = table().with_columns(
        confidence=pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("confidence"),
        correct=pl.when(pl.int_range(pl.len()) % 20 == 1).then(None).otherwise("correct"),
    )
    made = novarag.gate(rows, risk=0.3, columns=Columns())
    assert (made.counted.unread, made.counted.ungraded, made.counted.rows) == (40, 20, 380)


def test_a_refusal_has_a_page_too(tmp_path):
    made = novarag.gate(table(60, boast=2.0), risk=0.02, page=tmp_path / "g.html")
    assert made.threshold is None
    page = (tmp_path / "g.html").read_text()
    assert "No gate at this risk" in page
    assert "Not attainable: these rows could certify" in page


def test_works_in_an_event_loop_and_from_a_thread():
    async def inside():
        return novarag.gate(table(), risk=0.3)

    with ThreadPoolExecutor(1) as pool:
        apart = pool.submit(novarag.gate, table(), risk=0.3).result()
    assert asyncio.run(inside()) == apart
