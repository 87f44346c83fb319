"""Objects that users name: package.module:OBJECT."""

from __future__ import annotations

from pkgutil import resolve_name

from novarag.errors import UsageError


def import_object(name: str) -> object:
    """Import what is named as package.module:OBJECT."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise UsageError(f"{name!r} cannot be imported: write package.module:OBJECT")
    try:
        found: object = resolve_name(name)
    except (ImportError, AttributeError, ValueError, TypeError, SyntaxError) as error:
        raise UsageError(f"{name!r} cannot be imported: {error}") from error
    return found
