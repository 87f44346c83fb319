"""Signals of a request: the number of the table, and never more for a signal that is missing."""

from dataclasses import replace

import pytest

from novarag import answer
from novarag.calibration.fit_calibration import FitStamp, fit
from novarag.calibration.fused_rows import calibrate_rows
from novarag.calibration.graded_answers import AnswerSource
from novarag.flows.answerer import make_group
from novarag.records import Completion
from novarag.scoring import Exchange, Scorer
from novarag.strategies import NOVA
from tests.support.scored_answers import NAMES, draw_scored

STAMP = FitStamp(date="2026-11-19", version="0.1.0", seed=1)
GROUP = make_group("When was it lit?", ["It was lit in 1871."])
SOURCE = AnswerSource(model="m", prompt=NOVA.template.hash)
MADE = fit(replace(draw_scored(200, stated=True), source=SOURCE), stamp=STAMP)


def said(percent):
    return (
        "Passage Classifications: highly relevant\nGroup Judgment: consistent\n"
        f"Answer: 1871\nConfidence: {percent}%"
    )


def scored(scorer, confidence, signals):
    completion = Completion(text=said(round(100 * confidence)), model="m")
    return scorer.score(Exchange(group=GROUP, completion=completion, signals=signals))


def test_a_thousand_answers_get_the_numbers_of_the_table():
    made = replace(MADE, states={"consistent": MADE.states[""]}, seen={"consistent": MADE.seen[""]})
    scorer = Scorer(NOVA, made, source="m")
    rows = draw_scored(1000, seed=5, stated=True, missing=0.05)
    rows = replace(rows, state=rows.state + 1, states=("consistent",))
    table = calibrate_rows(made, rows)
    for row, values in enumerate(rows.scores.values.tolist()):
        signals = {n: v for n, v in zip(NAMES, values, strict=True) if v == v}
        live = scored(scorer, rows.confidence[row], signals)
        assert live.stated == pytest.approx(rows.confidence[row])
        assert live.confidence == pytest.approx(table.probability[row], abs=1e-9)
        every = scored(scorer, rows.confidence[row], {**signals, "judge": 99999.0})
        lost = scored(
            scorer, rows.confidence[row], {n: v for n, v in signals.items() if n != "judge"}
        )
        assert lost.confidence <= min(live.confidence, every.confidence) + 1e-12


def test_what_is_missing_and_what_nothing_uses_is_said():
    scorer = Scorer(NOVA, MADE, source="m")
    notes = scored(scorer, 0.9, {"judge": 1000.0, "noise": float("nan"), "other": 1.0}).notes
    assert any("no signal 'distance' was given: it counts as the worst" in note for note in notes)
    assert any("no signal 'noise' was given" in note for note in notes)
    assert any("the calibration uses no signal 'other'" in note for note in notes)
    assert not any("'judge'" in note for note in notes)


def test_answer_takes_signals():
    made = replace(MADE, source=AnswerSource())
    low, high = (
        answer(
            "When was it lit?", ["It was lit in 1871."], model=lambda _: said(80), calibration=made,
            signals={"judge": judge, "distance": 1.0, "noise": 0.0},
        ).confidence
        for judge in (300, 1800)
    )  # fmt: skip
    assert low < high - 0.1
