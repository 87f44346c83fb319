"""Objects that users name as package.module:OBJECT, and packages that extras bring."""

from __future__ import annotations

from pkgutil import resolve_name

from novarag.errors import UsageError


def with_extra(name: str) -> str:
    """Say how an extra is installed: from a clone, as the package is on no index yet.

    >>> with_extra("milvus")
    "pip install '.[milvus]' in a clone of novarag"
    """
    return f"pip install '.[{name}]' in a clone of novarag"


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
