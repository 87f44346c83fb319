"""These numbers may never change: a seed must give the same set in every version, everywhere."""

import numpy as np
import polars as pl
import pytest

from novarag.filters.selection import group_draws, sample_draws
from novarag.metrics.baselines import folds
from novarag.noise.audit import _folds
from novarag.seeding import draw_all, rng_for, stable_hash
from novarag.sft.export_split import _place
from novarag.study.sheet import draw_places


def test_generators():
    assert rng_for(0).random() == 0.6996750207760786
    assert rng_for(7, "x", "y").randrange(10**9) == 285025426
    assert rng_for(3, "ü", "", "draw").getrandbits(64) == 3957715346153651844
    assert rng_for(-1, "q").random() == 0.39720393374920804


def test_numbers_in_random_order():
    assert list(draw_all(rng_for(5, "q"), 8)) == [6, 3, 0, 1, 4, 7, 5, 2]
    assert [list(draw_all(rng_for(0), n)) for n in (0, 1)] == [[], [0]]


def test_the_draws_of_the_filters():
    frame = pl.DataFrame({"question": ["q", "ü", "q"], "group": ["g", None, "h"]})
    drawn = group_draws(frame, seed=1, purpose="alignment")
    assert drawn.tolist() == [7162672200509424971, 18022306395886955546, 10915144763054686409]
    mixed = sample_draws(drawn, np.array([0, 5, 15]))
    assert mixed.tolist() == [3220545948861682392, 12069532688817381106, 2360122904116583646]


def test_the_folds_of_the_audit():
    names = [
        "q1", "q7", "a\ud800", "q2", "q11", "q9", "q0", "ü", "q8", "q4", "q6", "q5", "q3", "q10",
    ]  # fmt: skip
    assert _folds(set(names), 3) == {name: i % 5 for i, name in enumerate(names)}


@pytest.mark.parametrize(
    ("question", "seed", "place"), [("q", 0, 0.1673242768242531), ("ü", 7, 0.5151922807569349)]
)
def test_the_side_of_a_training_question(question, seed, place):
    assert _place(question, seed) == place


def test_the_numbers_of_names():
    assert [stable_hash(name) for name in ("", "q", "ü\x1fa", "\ud800")] == [
        16476032584258269876,
        3113518941435925557,
        7909184007726774553,
        4758185216457903464,
    ]


def test_the_folds_of_the_baselines():
    assert folds(["", "q", "ü", "q1", "q2", "q3"]).tolist() == [0, 3, 2, 3, 3, 0]


def test_the_questions_of_a_study():
    asked = [(f"q{i}", group) for i in range(9) for group in "ab"]
    drawn = draw_places([asked, asked], 4, seed=5)
    assert drawn == [("q5", "b"), ("q6", "b"), ("q8", "a"), ("q7", "b")]
