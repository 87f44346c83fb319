"""The folder of a training: whose it is, how it was begun, and what was told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from novarag.atomic import drafts_of, write_whole
from novarag.errors import DataError, StorageError, UsageError
from novarag.prose import Parameter, join_prose, say
from novarag.sft.train.settings import LATER, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from novarag.prose import ProsePart

PLAN, FACTS = "plan.json", "training.json"
_WEIGHTS = "adapter/adapter_model.safetensors"


def check_place(out: Path, plan: Mapping[str, Any]) -> None:
    """Refuse a place that holds something else, or a training that was begun otherwise."""
    begun = _begun(out)
    if begun is None:
        return
    other = list(differences(begun, plan))
    if other:
        raise UsageError(
            say(
                "{} was begun otherwise: {}. Give the same to go on, or name another folder with"
                " `out`",
                out,
                join_prose("; ", other),
            ),
            parameter="out",
        )


def _begun(out: Path) -> dict[str, Any] | None:
    """Return the plan of a training that was begun there, or None if nothing was."""
    if not out.exists():
        return None
    if out.is_dir() and (out / PLAN).is_file():
        return read_json(out / PLAN)
    # A kill in the first instant leaves a draft of the plan and nothing else.
    if not out.is_dir() or set(out.iterdir()) - set(drafts_of(out / PLAN)):
        raise UsageError.saying("{} holds something else; name another folder with `out`", out)
    return None


def differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Say each thing that decides the result and is not as it was: what, from what, to what."""
    if begun.get("made_by") != now["made_by"]:
        yield "it is no training of novarag's"
        return
    for name, before, after in _pairs(begun, now):
        if before != after:
            yield say("{} was {}, now {}", name, _shown(before), _shown(after))


def _pairs(
    begun: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[ProsePart, object, object]]:
    for name, value in now["settings"].items():
        yield Parameter(name), begun["settings"].get(name, LATER.get(name, value)), value
    files = {file["name"]: file["sha256"] for file in begun["files"]}
    ours = {file["name"]: file["sha256"] for file in now["files"]}
    for name in sorted(files.keys() | ours.keys()):
        yield f"the SHA-256 of {name}", files.get(name), ours.get(name)
    for name in ("name", "fingerprint"):
        yield f"the {name} of the base model", begun["base"].get(name), now["base"][name]
    yield "the tokenizer", begun["tokenizer_sha256"], now["tokenizer_sha256"]
    if "precision" in begun and "precision" in now:
        yield "the arithmetic of the machine", begun["precision"], now["precision"]


def _shown(value: object) -> str:
    """Shorten hashes to what eyes compare."""
    if value is None:
        return "not there"
    said = shown(value)
    return f"{said[:12]}…" if len(said) == 64 else said


def finished(out: Path) -> dict[str, Any] | None:
    """Return what was told of a training at its end, or None if its end is still to come."""
    path = out / FACTS
    return read_json(path) if path.is_file() and (out / _WEIGHTS).is_file() else None


def read_json(path: Path) -> dict[str, Any]:
    """Read an object that was written here."""
    try:
        facts = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        facts = None
    if not isinstance(facts, dict):
        raise DataError(
            "is damaged.",
            hint=say("name another folder with `out` and train again."),
            source=str(path),
        )
    return facts


def write_json(path: Path, facts: Mapping[str, Any]) -> None:
    """Write an object so that it is there whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        write_whole(path, orjson.dumps(facts, option=option))
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
