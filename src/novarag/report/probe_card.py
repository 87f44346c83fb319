"""The verdicts of a card, read back from the probe.json of a probe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from novarag.errors import DataError
from novarag.probes import RELATIONS, RelationVerdict
from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "probe.json"
_VERDICTS = {str(verdict): verdict for verdict in RelationVerdict}
_SETTINGS = ("strategy", "profile", "temperature", "seed", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCard:
    """What a probe found of each relation, of whom, and how it asked."""

    system: str
    verdicts: Mapping[str, RelationVerdict]
    settings: Mapping[str, object]


def read_card(path: Path) -> StoredCard:
    """Read the card of a probe; a file that is none is refused."""
    try:
        content = parse_json(path.read_bytes())
        verdicts = {one["name"]: _VERDICTS[one["verdict"]] for one in content["relations"]}
        settings = {name: content["heading"][name] for name in _SETTINGS}
        settings["questions"] = content["questions"]
        system: Any = content["heading"]["system"]
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(path, f"it is no card of a probe ({type(error).__name__})") from error
    unknown = sorted(str(name) for name in verdicts if name not in RELATIONS)
    if unknown:
        raise _refused(path, f"it has relations that are not known: {', '.join(unknown)[:200]}")
    return StoredCard(system=str(system), verdicts=verdicts, settings=settings)


def _refused(path: Path, problem: str) -> DataError:
    hint = "give the folder that a probe of this version wrote."
    return DataError(f"{problem}.", hint=hint, source=str(path))
