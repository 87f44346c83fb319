"""Strategies and formats of replies as a person names them."""

from __future__ import annotations

from dataclasses import replace

from novarag.errors import UnknownName, UsageError
from novarag.importing import import_object
from novarag.strategies import FORMATS, STRATEGIES, Labels, Scale, Strategy


def find_strategy(strategy: str | Strategy) -> Strategy:
    """Find a strategy by its name or as package.module:OBJECT; one that is there stays as it is.

    >>> find_strategy("cot").name
    'cot'
    """
    if isinstance(strategy, Strategy):
        return strategy
    if not isinstance(strategy, str):
        raise TypeError(
            "strategy must be a name such as 'nova', package.module:OBJECT or a Strategy, not"
            f" {type(strategy).__name__}"
        )
    if ":" in strategy:
        found = import_object(strategy)
        if not isinstance(found, Strategy):
            raise UsageError(f"{strategy!r} is not a Strategy but a {type(found).__name__}")
        return found
    if strategy not in STRATEGIES:
        raise UnknownName(strategy, STRATEGIES)
    return STRATEGIES[strategy]


def find_labels(strategy: str | Strategy | Labels, scale: Scale | str | None = None) -> Labels:
    """Find how replies are labelled: by a strategy, or by a preset for another format.

    `scale` says what a bare number means, where the labels leave it open or say something else.
    """
    if isinstance(strategy, Labels):
        labels = strategy
    elif isinstance(strategy, str) and strategy in FORMATS:
        labels = FORMATS[strategy]
    elif isinstance(strategy, str) and ":" not in strategy and strategy not in STRATEGIES:
        raise UnknownName(strategy, [*STRATEGIES, *FORMATS])
    else:
        labels = find_strategy(strategy).labels
    return labels if scale is None else replace(labels, scale=_scale(scale))


def _scale(scale: Scale | str) -> Scale:
    if scale not in list(Scale):
        raise UnknownName(str(scale), Scale)
    return Scale(scale)
