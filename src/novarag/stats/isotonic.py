"""The best monotone curve through points: pool adjacent violators.

Ayer, Brunk, Ewing, Reid and Silverman, 1955, Annals of Mathematical Statistics 26.
"""

from __future__ import annotations

from functools import cache, partial
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.stats.arrays import Floats


def rising_fit(values: Floats, weights: Floats) -> Floats:
    """Return the values that never fall and lie nearest to those given, by weighted squares.

    >>> rising_fit(np.array([0.0, 0.6, 0.2]), np.array([1.0, 1.0, 3.0])).round(6).tolist()
    [0.0, 0.3, 0.3]
    """
    if np.any(weights <= 0):
        raise ValueError("weights must be over 0")
    return _fitter()(values, weights)


@cache
def _fitter() -> Callable[[Floats, Floats], Floats]:
    """Return scipy's fit: its core alone, or where that is another one, the whole of it.

    `scipy.optimize` takes a quarter of a second to load, which is a quarter of what `measure`
    starts in.
    """
    try:
        pava = _core()
        if _pooled(pava, np.array([0.0, 0.6, 0.2]), np.array([1.0, 1.0, 3.0]))[1] == _POOLED:
            return partial(_pooled, pava)
    except (ImportError, AttributeError, TypeError, ValueError):
        pass  # another version of scipy
    return _whole


# What the pooled levels must come to: 0.6 once and 0.2 three times.
_POOLED = (1.0 * 0.6 + 3.0 * 0.2) / 4.0


def _core() -> Callable[..., tuple[Floats, ...]]:
    spec = PathFinder.find_spec("_pava_pybind", [str(Path(scipy.__file__).parent / "optimize")])
    if spec is None or spec.loader is None:
        raise ImportError("scipy keeps it elsewhere")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    pava: Callable[..., tuple[Floats, ...]] = module.pava
    return pava


def _pooled(pava: Callable[..., tuple[Floats, ...]], values: Floats, weights: Floats) -> Floats:
    fitted = np.array(values, dtype=np.float64, order="C", copy=True)
    spread = np.array(weights, dtype=np.float64, order="C", copy=True)
    blocks = np.full(fitted.size + 1, -1, dtype=np.intp)
    return np.asarray(pava(fitted, spread, blocks)[0])


def _whole(values: Floats, weights: Floats) -> Floats:
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, weights=weights).x)
