"""What several verbs share: finding strategies, and options that mean the same everywhere."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.errors import UnknownName, UsageError
from novarag.strategies.confidence import Scale

if TYPE_CHECKING:
    from novarag.strategies import Labels, Strategy


def import_object(name: str) -> object:
    """Import what is named as package.module:OBJECT."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise UsageError(f"{name!r} cannot be imported: write package.module:OBJECT")
    sys.path.insert(0, "")  # a module beside the user's data, as `python -m` would find it
    try:
        found: object = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise UsageError(f"{name!r} cannot be imported: {error}") from error
    return found


def find_strategy(name: str) -> Strategy:
    """Find a strategy by name, or import one given as package.module:OBJECT."""
    from novarag.strategies import STRATEGIES, Strategy

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
    from novarag.strategies import FORMATS, STRATEGIES

    if name in FORMATS:
        labels = FORMATS[name]
    elif ":" in name or name in STRATEGIES:
        labels = find_strategy(name).labels
    else:
        raise UnknownName(name, [*STRATEGIES, *FORMATS])
    return replace(labels, scale=scale) if scale else labels


OURS = "vanilla, cot, multi-step, noise-aware, nova, label-only, closed-book, top-k"
PAPERS = "vanilla-paper, cot-paper, multi-step-paper, noise-aware-paper, nova-paper"
PRESETS = "guess-probability, answer-tags, probability-yes"
StrategyName = Annotated[
    str,
    typer.Option("--strategy", "-s", help=f"{OURS}; {PAPERS}; or package.module:OBJECT."),
]
ReaderName = Annotated[
    str,
    typer.Option(
        "--strategy",
        "-s",
        help=f"How the reply is laid out: {OURS}; other formats: {PRESETS};"
        " or package.module:OBJECT.",
    ),
]
ScaleName = Annotated[
    Scale | None,
    typer.Option(help="What a bare number in a reply means: 0%-100%, 0-100 or 0-1."),
]
