"""Find a strategy, or how replies are labelled, by what a person would write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.errors import UnknownName, UsageError
from novarag.imports import import_object
from novarag.strategies.table import FORMATS, STRATEGIES, Strategy

if TYPE_CHECKING:
    from novarag.strategies.confidence import Scale
    from novarag.strategies.labels import Labels


def find_strategy(name: str) -> Strategy:
    """Find a strategy by name, or import one given as package.module:OBJECT."""
    if ":" in name:
        found = import_object(name)
        if not isinstance(found, Strategy):
            raise UsageError(f"{name!r} is not a Strategy but a {type(found).__name__}")
        return found
    if name not in STRATEGIES:
        raise UnknownName(name, STRATEGIES)
    return STRATEGIES[name]


def find_labels(name: str, scale: Scale | None = None) -> Labels:
    """Find how replies are labelled: by a strategy, or by a preset for a foreign format."""
    if name in FORMATS:
        labels = FORMATS[name]
    elif ":" in name or name in STRATEGIES:
        labels = find_strategy(name).labels
    else:
        raise UnknownName(name, [*STRATEGIES, *FORMATS])
    return replace(labels, scale=scale) if scale else labels
