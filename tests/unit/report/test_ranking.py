"""Methods ranked by Brier: the best first, differences to it, names that do not cover each other."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from novarag.calls import Cost
from novarag.metrics import measure_table
from novarag.report.ranking import best_of, cost_finding, draw_costs, ranked

COSTS = {
    "honest": Cost(calls=200, prompt_tokens=20_000, completion_tokens=1_000),
    "bold": Cost(calls=200, prompt_tokens=20_000, completion_tokens=1_000),
    "costly": Cost(calls=2_000, prompt_tokens=200_000, completion_tokens=20_000),
}


@pytest.fixture(scope="module")
def measured():
    rng = np.random.default_rng(0)
    chance = rng.random(200)
    right = rng.random(200) < chance
    stated = {"honest": chance, "bold": 0 * chance + 0.95, "costly": chance**1.1}
    return measure_table(
        pl.concat([
            pl.DataFrame({
                "question": [f"q{i}" for i in range(200)], "confidence": c, "correct": right,
            }).with_columns(method=pl.lit(name))
            for name, c in stated.items()
        ]),
        by="method", replicates=200,
    )  # fmt: skip


def test_the_best_stands_first_and_others_are_behind_it(measured):
    order = ranked(measured, COSTS)
    brier = [one.panel.figures["brier"].value for one in order]
    assert brier == sorted(brier)
    assert order[0].behind is order[0].p is None
    for one in order[1:]:
        assert np.isclose(one.behind.value, one.panel.figures["brier"].value - brier[0])
        assert one.behind.low <= one.behind.value <= one.behind.high
    assert order[-1].panel.name == "bold"
    assert order[-1].p < 0.001
    assert (order[-1].calls, order[-1].tokens) == (1, 105)


def test_the_line_names_what_is_not_shown_to_be_worse(measured):
    found = best_of(ranked(measured, COSTS))
    assert found.act == "yes"
    assert "not shown to be worse: " in found.line
    assert "bold" not in found.line
    assert "beats always stating the accuracy" in found.because
    alone = best_of([ranked(measured, COSTS)[-1]])
    assert alone.act == "wait"
    assert "worse" not in alone.line


def test_names_at_marks_do_not_cover_each_other(measured):
    one = ranked(measured, COSTS)[0]
    many = [
        replace(one, panel=replace(one.panel, name=f"method-{i}"), tokens=100.0 + i)
        for i in range(6)
    ]
    drawn = str(draw_costs(many))
    places = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="at start">(method-\d)', drawn)
    assert len(places) == 6
    boxes = [(float(x), float(y), 6.2 * len(name)) for x, y, name in places]
    for i, (x, y, wide) in enumerate(boxes):
        for a, b, other in boxes[i + 1 :]:
            assert x >= a + other or a >= x + wide or abs(y - b) >= 12
    assert draw_costs([]) == ""


def test_the_picture_is_titled_by_what_it_shows(measured):
    order = ranked(measured, COSTS)
    assert cost_finding([]) == ""
    best = order[0].panel.name
    said = cost_finding(order)
    if order[0].tokens == min(one.tokens for one in order):
        assert said.startswith(f"{best} has the lowest Brier, ")
    dear = [replace(order[0], tokens=999.0), *order[1:]]
    assert f"by {best}, takes 999 tokens an answer; " in cost_finding(dear)
    assert f"takes 105 tokens an answer for {order[-1].panel.figures['brier'].value:.3f}" in (
        cost_finding([dear[0], order[-1]])
    )


def test_the_axis_of_brier_has_even_steps(measured):
    drawn = str(draw_costs(ranked(measured, COSTS)))
    ticks = [float(t) for t in re.findall(r'class="tick end">([0-9.]+)<', drawn)]
    assert len(ticks) == 5
    steps = {round(b - a, 4) for a, b in pairwise(ticks)}
    assert steps <= {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25}
    assert len(steps) == 1
