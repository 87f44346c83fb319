"""Settings in TOML: every key is known and typed, and has a default or is asked for."""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from difflib import get_close_matches
from importlib.resources import files
from math import isfinite
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from novarag.defaults import LARGEST
from novarag.errors import DataError
from novarag.texts import parse_toml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

Table = TypeVar("Table")
_HINTS = {
    "model": 'write [model] and endpoints = ["http://localhost:8000/v1=llama"]; a preset needs a'
    " file of yours beside it.",
    "model.endpoints": 'write endpoints = ["http://localhost:8000/v1=llama"].',
    "questions": 'write [questions] and file = "questions.jsonl".',
    "questions.file": 'write file = "questions.jsonl".',
}
_WORDS: dict[object, str] = {
    int: "a whole number", float: "a number", bool: "true or false", str: "a text in quotes",
    tuple[str, ...]: 'a list such as ["one", "two"]',
}  # fmt: skip


def at_least(least: float, default: Any) -> Any:  # noqa: ANN401 - as `field` itself
    """Declare a key that has a least value."""
    return field(default=default, metadata={"least": least})


def load_table(
    cls: type[Table],
    sources: Sequence[str | Path],
    presets: Sequence[str],
    *,
    folder: str,
) -> Table:
    """Read settings from files or presets; later ones override earlier ones, key by key.

    `presets` are the names that may be given for the files of `folder` in `novarag/presets`.
    """
    merged: dict[str, Any] = {}
    for source in sources:
        shipped = files("novarag").joinpath("presets", folder, f"{source}.toml")
        path = shipped if str(source) in presets else Path(source)
        _merge(merged, read_toml(path, presets))
    return _build(cls, merged, "", " + ".join(map(str, sources)))


def read_toml(path: Path | Traversable, presets: Sequence[str]) -> dict[str, Any]:
    """Read a file of settings, or say what is wrong with it."""
    try:
        return parse_toml(path.read_text("utf-8"))
    except FileNotFoundError:
        hint = f"check the path, or use a preset: {', '.join(presets)}."
        raise DataError("there is no such file.", hint=hint, source=str(path)) from None
    except (OSError, ValueError) as error:
        raise DataError(
            f"the file is not TOML ({error}).",
            hint="fix that line; texts stand in quotes.",
            source=str(path),
        ) from error


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _build(cls: type[Table], entries: dict[str, Any], where: str, source: str) -> Table:
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    for key in entries:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}."
            raise DataError(f"there is no key {where + key!r}.", hint=meant, source=source)
    missing = [
        name
        for name, f in known.items()
        if name not in entries and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        name = where + missing[0]
        hint = _HINTS.get(name, "write it.")
        raise DataError(f"the key {name!r} is missing.", hint=hint, source=source)
    values = {key: _value(hints[key], entries[key], where + key, source) for key in entries}
    for key, value in values.items():
        least = known[key].metadata.get("least")
        if least is not None and value is not None and value < least:
            problem = f"{where + key} is {value!r}, and must be {least} or more."
            raise DataError(problem, hint="give more.", source=source)
    return cls(**values)


def _value(hint: Any, value: Any, where: str, source: str) -> Any:  # noqa: ANN401 - TOML holds anything
    kinds = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    if isinstance(value, str) and "\0" in value:  # no path and no name may hold one
        raise DataError(f"{where} is {value!r}.", hint="leave out the NUL.", source=source)
    if isinstance(value, int) and abs(value) > LARGEST:
        raise DataError(f"{where} is over {LARGEST}.", hint="give less.", source=source)
    for kind in kinds:
        if hasattr(kind, "__dataclass_fields__") and isinstance(value, dict):
            return _build(kind, value, f"{where}.", source)
        if get_origin(kind) is tuple and isinstance(value, list):
            return tuple(_value(get_args(kind)[0], v, where, source) for v in value)
        if kind is float and type(value) in {int, float} and isfinite(value):
            return float(value)
        if kind is not float and isinstance(kind, type) and type(value) is kind:
            return value
    wanted = " or ".join(_WORDS.get(kind, str(kind)) for kind in kinds if kind is not type(None))
    raise DataError(f"{where} is {value!r}.", hint=f"write {wanted}.", source=source)
