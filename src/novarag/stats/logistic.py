"""A small multinomial logistic regression with an L2 penalty, as scikit-learn would fit it.

The core install has SciPy but not scikit-learn; thirty lines do not justify forty megabytes. The
tests hold it against scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEPS = 200  # of L-BFGS at most, so that a fit ends
_NOTHING = 1e-10  # of the largest: an axis along which rows do not differ
_COLUMNS = 20  # columns for which a penalty of one will do


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """A fitted classifier; `slopes` belong to standardised columns."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def chances(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of every class for every row."""
        scores = (table - self.mean) / self.scale @ self.slopes.T + self.offsets
        return np.asarray(softmax(scores, axis=1))


def fit(
    table: NDArray[np.float64],
    truth: NDArray[np.int64],
    classes: int,
    *,
    penalty: float | None = None,
) -> LogisticModel:
    """Fit on standardised columns, minimising log loss plus half the penalty on squared slopes.

    By default the penalty grows with the number of columns, or a thousand words would drown the
    few that tell.
    """
    penalty = max(1.0, table.shape[1] / _COLUMNS) if penalty is None else penalty
    mean, scale = table.mean(axis=0), table.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    slopes, offsets = _fit((table - mean) / scale, np.eye(classes)[truth], penalty)
    return LogisticModel(mean, scale, slopes, offsets)


def _fit(
    x: NDArray[np.float64], target: NDArray[np.float64], penalty: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit in the span of the rows where they are fewer than the columns.

    The penalty keeps slopes in that span, so the result is the same, and much faster to find.
    """
    if x.shape[1] <= x.shape[0]:
        return _descend(x, target, penalty)
    values, vectors = np.linalg.eigh(x @ x.T)
    kept = values > values[-1] * _NOTHING
    sizes, axes = np.sqrt(values[kept]), vectors[:, kept]
    slopes, offsets = _descend(axes * sizes, target, penalty)
    return (slopes / sizes @ axes.T) @ x, offsets


def _descend(
    x: NDArray[np.float64], target: NDArray[np.float64], penalty: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    classes, width = target.shape[1], x.shape[1]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(classes, width + 1)
        slopes, offsets = weights[:, :width], weights[:, width]
        logs = log_softmax(x @ slopes.T + offsets, axis=1)
        off = np.exp(logs) - target
        steep = np.hstack([off.T @ x + penalty * slopes, off.sum(axis=0)[:, None]])
        value = -(target * logs).sum() + penalty / 2 * (slopes**2).sum()
        return float(value), steep.ravel()

    start = np.zeros(classes * (width + 1))
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    weights = best.x.reshape(classes, width + 1)
    return weights[:, :width], weights[:, width]
