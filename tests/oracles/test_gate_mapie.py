"""MAPIE's controller of precision, where it promises what a gate does: risk 1 - precision.

Its p-values are bounds (Hoeffding and Bentkus) on ours, which are exact; its fixed sequence has one
start and every hypothesis the whole level. So on one chain with the same start its thresholds are
among ours, and its sequence, given our p-values, ends where ours ends.
"""

import warnings

import numpy as np
import pytest

from novarag.calibration.threshold_tests import ChainStart, RankedRows, ThresholdCounts, count, walk
from tests.support.oracles import need

BinaryClassificationController = need("mapie.risk_control").BinaryClassificationController
control_fwer = need("mapie.risk_control.fwer_control").control_fwer

pytestmark = pytest.mark.oracle

LEVELS = np.round(np.arange(1.0, 0.29, -0.05), 2)
START = 30


def drawn(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray, ThresholdCounts]:
    """Draw scores and grades; count them at the levels, from the first that answers enough."""
    rng = np.random.default_rng(seed)
    score = rng.choice(LEVELS, n)
    right = rng.random(n) < 0.35 + 0.62 * score**2
    order = np.argsort(-score, kind="stable")
    counts = count(RankedRows(score[order], ~right[order], None, None, None))
    first = int(np.argmax(counts.answered >= START))
    return score, right, ThresholdCounts(*(column[first:] for column in counts))


@pytest.mark.parametrize("risk", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("seed", range(15))
def test_the_sequence_ends_where_theirs_does(seed, risk):
    _, _, counts = drawn(seed)
    way = walk(counts, risk, [ChainStart(START, 0.1)])
    theirs = control_fwer(way.p_value, 0.1, "fixed_sequence")
    assert theirs.tolist() == list(range(way.last + 1))


@pytest.mark.parametrize("risk", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("seed", range(15))
def test_what_their_controller_certifies_so_do_we(seed, risk):
    score, right, counts = drawn(seed)
    controller = BinaryClassificationController(
        lambda rows: np.c_[1 - rows[:, 0], rows[:, 0]], "precision", 1 - risk,
        confidence_level=0.9, fwer_method="fixed_sequence", list_predict_params=counts.threshold,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where it refuses
        controller.calibrate(score[:, None], right.astype(int))
    way = walk(counts, risk, [ChainStart(START, 0.1)])
    ours = counts.threshold[: way.last + 1]
    theirs = np.asarray(controller.valid_predict_params, dtype=float)
    assert set(theirs.round(9)) <= set(ours.round(9))
    assert (np.asarray(controller.p_values).ravel() >= way.p_value - 1e-12).all()


def test_theirs_certify_something_here():
    found = [walk(drawn(seed)[2], 0.3, [ChainStart(START, 0.1)]).last for seed in range(15)]
    assert max(found) > 3
