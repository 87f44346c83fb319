"""Calibrated confidence for retrieval-augmented language models.

    answer           one question beside its passages: answer, confidence, decision
    Answerer         the same for many questions, with one connection
    measure          how honest are stated confidences? verdict, thresholds, a page
    calibrate        from stated confidence to a probability
    gate             a threshold with a promise
    ask, estimate    a model asked many questions; uncertainty methods beside each other
    probe            what is proved of a system without a label
    annotate         what each passage is: support, another answer, related, unrelated

`novarag.__all__` holds the public names, which `__init__.pyi` lists with their modules. Each is
loaded when it is first used, so that `import novarag` and `novarag --help` stay quick.
"""

import ast
from importlib import import_module
from pkgutil import get_data

from novarag.version import __version__ as __version__


def _modules_of_names() -> dict[str, str]:
    """Return the module of each public name, read from the stub."""
    return {
        alias.name: str(node.module)
        for node in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if not alias.name.startswith("_")
    }


_HOMES = _modules_of_names()

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'novarag' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
