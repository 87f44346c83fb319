"""Options that stand for the fields of a record: a person gives options, a verb gets the record."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Verb = Callable[..., None]

_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
_RECORDS = {"Columns": object, "Access": object}  # names that verbs import for type checkers alone


def expand(
    parameter: str, options: Mapping[str, tuple[Any, object]], make: Callable[..., object]
) -> Callable[[Verb], Verb]:
    """Put options in the place of one parameter of a verb, after all that are its own.

    Args:
        parameter: The parameter of the verb that takes the record.
        options: For each field of the record its option, and its default.
        make: What makes the record of the fields, by keyword.
    """
    expanded = [
        inspect.Parameter(name, _EITHER, annotation=kind, default=default)
        for name, (kind, default) in options.items()
    ]

    def decorate(verb: Verb) -> Verb:
        @wraps(verb)
        def called(**given: Any) -> None:  # noqa: ANN401 - what typer found
            fields = {option.name: given.pop(option.name) for option in expanded}
            verb(**{parameter: make(**fields)}, **given)

        hints = get_type_hints(verb, include_extras=True, localns=_RECORDS)
        own = [
            one.replace(annotation=hints[name])
            for name, one in inspect.signature(verb).parameters.items()
            if name != parameter
        ]
        parts = [*own, *expanded]
        called.__signature__ = inspect.Signature(parts)  # type: ignore[attr-defined]
        called.__annotations__ = {part.name: part.annotation for part in parts}
        return called

    return decorate
