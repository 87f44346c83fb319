"""What single stated values do beside the line: 95 % may mean less than 90 % and 100 % around it.

Each pair of evidence state and whole percent has an effect of its own on the log-odds, drawn from
N(0, t²). How large t is, the rows say: each of a few values is weighed by its evidence. The
estimate starts from a chance of one half that there are no such effects; the interval does not,
so that it allows for a line that does not fit, and does not shrink where nobody graded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.hermite_e import hermegauss  # scipy's takes all of scipy.linalg with it
from scipy.special import log_expit, logsumexp

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats, Ints

_SIZES = np.array([0.2, 0.4, 0.8])  # values of t: 0.2 log-odds are five points at 50 %, 0.8 twenty
_BELIEVED = np.array([0.4, 0.4, 0.2])  # their prior chances; effects of twenty points are rare
_NO_EFFECTS = 0.5  # the prior chance in the estimate
_NODES, _MASSES = hermegauss(15)  # Gauss-Hermite quadrature against N(0, 1)
_LOG_MASSES = np.log(_MASSES / _MASSES.sum())


@dataclass(frozen=True, slots=True)
class LevelEffects:
    """Effects of the levels that were seen, and the variance of one that was not.

    `variance` is about `shift`, as the interval sees it.
    """

    shift: Floats
    variance: Floats
    unseen: float


def level_effects(eta: Floats, right: Floats, count: Floats, level: Ints) -> LevelEffects:
    """Estimate the effect of each level (numbered from 0) on rows with log-odds `eta`."""
    levels = int(level.max()) + 1
    moments = [_effects(float(size), eta, right, count, level, levels) for size in _SIZES]
    evidence = np.log(_BELIEVED) + [total for total, _, _ in moments]
    weight = np.exp(evidence - logsumexp(evidence))
    means, variances = (np.stack([m[i] for m in moments]) for i in (1, 2))
    shift = _chance_of_effects(evidence, eta, right, count) * (weight @ means)
    return LevelEffects(
        shift, weight @ (variances + (means - shift) ** 2), float(weight @ _SIZES**2)
    )


def _chance_of_effects(evidence: Floats, eta: Floats, right: Floats, count: Floats) -> float:
    """Return the chance that levels have effects at all."""
    none = float((right * log_expit(eta) + (count - right) * log_expit(-eta)).sum())
    some = float(logsumexp(evidence))
    odds = np.array([np.log(_NO_EFFECTS) + none, np.log(1 - _NO_EFFECTS) + some])
    return float(np.exp(odds[1] - logsumexp(odds)))


def _effects(
    size: float, eta: Floats, right: Floats, count: Floats, level: Ints, levels: int
) -> tuple[float, Floats, Floats]:
    """Return log evidence, and each level's posterior mean and variance, by quadrature."""
    effect = size * _NODES
    wrong = count - right
    each = (right * log_expit(at) + wrong * log_expit(-at) for at in (eta + e for e in effect))
    joint = np.stack([np.bincount(level, one, minlength=levels) for one in each], axis=1)
    joint += _LOG_MASSES
    total = logsumexp(joint, axis=1)
    chance = np.exp(joint - total[:, None])
    mean = chance @ effect
    return float(total.sum()), mean, chance @ effect**2 - mean**2
