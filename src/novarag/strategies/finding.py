"""Find a strategy, or how replies are labelled, by what a person would write."""

from __future__ import annotations

from dataclasses import replace

from novarag.errors import UnknownNameError, UsageError
from novarag.imports import import_object
from novarag.records import NumberScale
from novarag.strategies.labels import Labels
from novarag.strategies.table import FORMATS, STRATEGIES, Strategy


def find_strategy(name: str | Strategy) -> Strategy:
    """Find a strategy by name, or import one given as package.module:OBJECT; one is itself."""
    if isinstance(name, Strategy):
        return name
    if not isinstance(name, str):
        raise TypeError(f"strategy must be a name or a Strategy, not {type(name).__name__}")
    if ":" in name:
        found = import_object(name)
        if not isinstance(found, Strategy):
            raise UsageError(f"{name!r} is not a Strategy but a {type(found).__name__}")
        return found
    if name not in STRATEGIES:
        raise UnknownNameError(name, STRATEGIES)
    return STRATEGIES[name]


def find_labels(name: str | Strategy | Labels, scale: NumberScale | str | None = None) -> Labels:
    """Find how replies are labelled: by a strategy, or by a preset for a foreign format."""
    if isinstance(name, Labels):
        labels = name
    elif isinstance(name, str) and name in FORMATS:
        labels = FORMATS[name]
    elif not isinstance(name, str) or ":" in name or name in STRATEGIES:
        labels = find_strategy(name).labels
    else:
        raise UnknownNameError(name, [*STRATEGIES, *FORMATS])
    return replace(labels, scale=_scale(scale)) if scale else labels


def _scale(scale: NumberScale | str) -> NumberScale:
    known = [known.value for known in NumberScale]
    if scale not in known:
        raise UnknownNameError(str(scale), known)
    return NumberScale(scale)
