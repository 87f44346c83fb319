"""A pipeline as a TOML file: every key is known and typed, and has a default or is asked for."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from importlib.resources import files
from math import isfinite
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from novarag.errors import DataError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_Table = TypeVar("_Table")
_MENDS = {
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


def _least(least: float, default: Any) -> Any:  # noqa: ANN401 - as `field` itself
    """Declare a key that has a least value."""
    return field(default=default, metadata={"least": least})


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Which model is asked, and how hard."""

    endpoints: tuple[str, ...]
    key_env: str | None = None
    concurrency: int = _least(1, 64)
    timeout: float = _least(0.01, 600.0)
    attempts: int = _least(1, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Questions with gold passages; other labelled passages in the file join the pool."""

    file: str
    limit: int | None = _least(1, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSettings:
    """What passages a model writes."""

    kinds: tuple[str, ...] = ("counterfactual", "relevant", "irrelevant", "consistent")
    candidates: int = _least(1, 5)
    keep: int = _least(1, 3)
    verbalised: bool = False
    temperature: float = _least(0, 1.0)
    max_tokens: int | None = _least(1, None)
    questions: int | None = _least(1, None)
    model: Endpoints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """How passages are drawn into groups."""

    mix: str = "training"
    k: int = _least(1, 3)
    one_each: bool = False
    audit: bool = True
    margin: float = _least(0, 0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSettings:
    """How the groups are asked."""

    strategy: str = "nova"
    samples: int = _least(1, 16)
    temperature: float = _least(0, 1.0)
    top_p: float | None = None
    max_tokens: int | None = _least(1, None)
    seed: int | None = _least(0, None)
    structured: bool = False
    step_length: int = _least(1, 200)
    per_request: int | None = _least(1, None)
    shard_size: int = _least(1, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    """How trials are filtered; `runs` are other models' runs for the common questions."""

    rules: str = "stated"
    alignment: str = "brier"
    balance: str = "uniform"
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSettings:
    """What the training set looks like."""

    formats: tuple[str, ...] = ("canonical", "llama-factory", "openai")
    label_only: bool = False
    tokenizer: str | None = None
    max_length: int = _least(1, 2048)
    dev: float = _least(0, 0.0)
    base: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Everything `novarag build` needs to know."""

    model: Endpoints
    questions: Questions
    out: str = "build"
    seed: int = _least(0, 0)
    noise: NoiseSettings | None = None
    groups: GroupSettings = field(default_factory=GroupSettings)
    ask: AskSettings = field(default_factory=AskSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    export: ExportSettings = field(default_factory=ExportSettings)


PRESETS = ("paper",)
"""Settings that ship with the package."""


def load_pipeline(*sources: str | Path) -> Pipeline:
    """Read a pipeline from files or presets; later ones override earlier ones, key by key."""
    merged: dict[str, Any] = {}
    for source in sources:
        _merge(merged, _toml(_preset(str(source)) if str(source) in PRESETS else Path(source)))
    return _build(Pipeline, merged, "", " + ".join(map(str, sources)))


def _preset(name: str) -> Traversable:
    return files("novarag.configs").joinpath(f"{name}.toml")


def _toml(path: Path | Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        mend = f"check the path, or use a preset: {', '.join(PRESETS)}."
        raise DataError("there is no such file.", mend=mend, source=str(path)) from None
    except (OSError, ValueError) as error:
        raise DataError(
            f"the file is not TOML ({error}).",
            mend="mend that line; texts stand in quotes.",
            source=str(path),
        ) from error


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _build(cls: type[_Table], told: dict[str, Any], where: str, source: str) -> _Table:
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    for key in told:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}."
            raise DataError(f"there is no key {where + key!r}.", mend=meant, source=source)
    missing = [
        name
        for name, f in known.items()
        if name not in told and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        name = where + missing[0]
        mend = _MENDS.get(name, "write it.")
        raise DataError(f"the key {name!r} is missing.", mend=mend, source=source)
    values = {key: _value(hints[key], told[key], where + key, source) for key in told}
    for key, value in values.items():
        least = known[key].metadata.get("least")
        if least is not None and value is not None and value < least:
            problem = f"{where + key} is {value!r}, and must be {least} or more."
            raise DataError(problem, mend="give more.", source=source)
    return cls(**values)


def _value(hint: Any, value: Any, where: str, source: str) -> Any:  # noqa: ANN401 - TOML holds anything
    kinds = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
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
    raise DataError(f"{where} is {value!r}.", mend=f"write {wanted}.", source=source)
