"""Do right answers get more confidence than wrong ones? Only the order counts here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma

from novarag.metrics.tally import add_up

if TYPE_CHECKING:
    from novarag.metrics.tally import Tally
    from novarag.stats.arrays import Floats


def auroc(t: Tally) -> Floats:
    """Chance that a right answer has more confidence than a wrong one; a tie counts one half.

    Hanley and McNeil, 1982, Radiology 143.
    """
    wrong_below = np.cumsum(t.wrong, axis=-1) - t.wrong / 2
    with np.errstate(invalid="ignore"):
        return add_up(t.right * wrong_below) / (t.rights * t.wrongs)


def tie_share(t: Tally) -> Floats:
    """Share of right-wrong pairs with the same confidence, which AUROC counts one half."""
    with np.errstate(invalid="ignore"):
        return add_up(t.right * t.wrong) / (t.rights * t.wrongs)


def levels(t: Tally) -> Floats:
    """Number of distinct confidences used."""
    return add_up((t.count > 0).astype(np.float64))


def error_auprc(t: Tally) -> Floats:
    """Average precision of finding wrong answers by low confidence."""
    found, seen = np.cumsum(t.wrong, axis=-1), np.cumsum(t.count, axis=-1)
    precision = np.divide(found, seen, out=np.zeros_like(found), where=seen > 0)
    with np.errstate(invalid="ignore"):
        return add_up(t.wrong * precision) / t.wrongs


def _falling(t: Tally) -> tuple[Floats, Floats, Floats, Floats]:
    """Counts and errors by falling confidence, and what was accepted before each level."""
    count, wrong = t.count[..., ::-1], t.wrong[..., ::-1]
    return count, wrong, np.cumsum(count, axis=-1) - count, np.cumsum(wrong, axis=-1) - wrong


def aurc(t: Tally) -> Floats:
    """Mean error rate over all coverages, the expected value over the order of tied answers.

    Geifman, Uziel and El-Yaniv, 2019, ICLR, who also give the excess over the best one.

    Within a level of n answers and e errors, after N answers and E errors, the expected risks
    (E + j e/n) / (N + j) for j = 1..n add up to e + (E - N e/n) (H(N+n) - H(N)).
    """
    count, wrong, before, errors = _falling(t)
    share = np.divide(wrong, count, out=np.zeros_like(wrong), where=count > 0)
    harmonic = digamma(before + count + 1) - digamma(before + 1)
    return add_up(wrong + (errors - before * share) * harmonic) / t.total


def best_aurc(t: Tally) -> Floats:
    """The AURC of a respondent with this accuracy whose every error comes last."""
    harmonic = digamma(t.total + 1) - digamma(t.rights + 1)
    return (t.wrongs - t.rights * harmonic) / t.total


def excess_aurc(t: Tally) -> Floats:
    """AURC above the best one possible at this accuracy."""
    return aurc(t) - best_aurc(t)


def augrc(t: Tally) -> Floats:
    """Mean over coverages of the share of all answers that are accepted and wrong.

    Traub et al., 2024, NeurIPS.
    """
    count, wrong, _, errors = _falling(t)
    return add_up(count * errors + wrong * (count + 1) / 2) / t.total**2


def accuracy_at_coverage(t: Tally, *, coverage: float = 0.5) -> Floats:
    """Accuracy of the most confident share of answers; a level that is cut counts in part."""
    count, wrong, before, _ = _falling(t)
    wanted = coverage * t.total[..., None]
    part = np.clip(wanted - before, 0, count)
    share = np.divide(part, count, out=np.zeros_like(part), where=count > 0)
    return 1 - add_up(share * wrong) / wanted[..., 0]


def coverage_at_risk(t: Tally, *, risk: float = 0.1) -> Floats:
    """Largest share of answers above a threshold whose error rate is within the risk; 0 if none."""
    count, wrong, before, errors = _falling(t)
    accepted = before + count
    allowed = (errors + wrong) <= risk * accepted * (1 + 1e-12)  # one in ten is ten percent
    return np.asarray(np.where(allowed, accepted, 0).max(axis=-1) / t.total)


def risk_curve(t: Tally) -> tuple[Floats, Floats, Floats]:
    """Threshold, coverage and error rate at every level a threshold can be set to.

    El-Yaniv and Wiener, 2010, JMLR 11.
    """
    count, wrong, before, errors = _falling(t)
    accepted = before + count
    used = count > 0
    return (
        t.level[::-1][used],
        (accepted / t.total)[used],
        ((errors + wrong) / np.maximum(accepted, 1e-300))[used],
    )
