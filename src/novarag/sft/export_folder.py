"""The files of an export: written and hashed, and told from a stranger's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson

from novarag.checksums import digest
from novarag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

CARD = "card.json"
README = "README.md"
MADE_BY = "novarag export"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file as it was written."""

    name: str
    size: int
    sha256: str


def write_file(folder: Path, name: str, chunks: Iterable[bytes]) -> WrittenFile:
    """Write a file of a draft piece by piece, and say what was written."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    hashed, size = sha256(), 0
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            hashed.update(chunk)
            size += len(chunk)
    return WrittenFile(name=name, size=size, sha256=hashed.hexdigest())


def seal_card(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a data card what shows whether it was altered."""
    return {**facts, "seal": _card_digest(facts)}


def card_is_whole(card: Mapping[str, Any]) -> bool:
    """Say whether a data card is as it was written; the licence is for people to fill in."""
    return card.get("seal") == _card_digest(card)


def _card_digest(card: Mapping[str, Any]) -> str:
    content = {name: fact for name, fact in card.items() if name not in {"licence", "seal"}}
    return digest(json.dumps(content, sort_keys=True).encode())


def check_free(out: Path) -> None:
    """Refuse a place with anything but an earlier export in it."""
    if not out.name:
        raise UsageError(f"{out} cannot be written to; name a folder")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError.saying("{} is not a folder; name another with `out`", out)
    if not out.exists():
        return
    found = {p.relative_to(out).as_posix() for p in out.rglob("*") if not p.is_dir()}
    strange = sorted(found - _of_an_export(out / CARD))
    if strange:
        raise UsageError.saying(
            "{} holds {!r}, which is no part of an export; name another folder with `out`",
            out,
            strange[0],
        )


def _of_an_export(card: Path) -> set[str]:
    """List the files of the export that is there, or nothing if none is."""
    try:
        content: Any = orjson.loads(card.read_bytes())
        if content["made_by"] != MADE_BY:
            return set()
        return {CARD, README, *(file["name"] for file in content["files"])}
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return set()
