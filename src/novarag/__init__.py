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

from novarag.version import __version__ as __version__

_modules: dict[str, str] = {}
"""The module of each public name, read from the stub when the first of them is asked for."""


def _modules_of_names() -> dict[str, str]:
    """Return the module of each public name, read from the stub."""
    if not _modules:
        import ast
        from pkgutil import get_data

        found = {
            alias.name: str(node.module)
            for node in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if not alias.name.startswith("_")
        }
        _modules.update(found)  # whole, as another thread may ask meanwhile
    return _modules


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_modules_of_names())
    if name.startswith("_") or name not in _modules_of_names():
        raise AttributeError(f"module 'novarag' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_modules[name]), name)


def __dir__() -> list[str]:
    return [*_modules_of_names(), "__version__"]
