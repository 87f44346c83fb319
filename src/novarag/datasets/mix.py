"""The mix of groups that a noise profile found, or one written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.answers.opening.files import existing
from novarag.errors import DataError
from novarag.prose import say
from novarag.taxonomy import GroupKind
from novarag.texts import parse_json

if TYPE_CHECKING:
    from pathlib import Path


def read_mix(path: str | Path) -> dict[str, float]:
    """Read the share of each group kind from a profile, or from {"consistent": 0.7, …}."""
    path = existing(path)
    try:
        content = parse_json(path.read_bytes())
    except ValueError as error:
        raise _wrong(path, f"the file is not JSON ({error}).") from error
    mix = content.get("group_mix", content) if isinstance(content, dict) else None
    if not isinstance(mix, dict) or not mix:
        raise _wrong(path, "there is no mix of groups in it.")
    known = {kind.value for kind in GroupKind}
    shares: dict[str, float] = {}
    for kind, cell in mix.items():
        share = cell.get("value") if isinstance(cell, dict) else cell
        if kind not in known or isinstance(share, bool) or not isinstance(share, int | float):
            raise _wrong(path, f"{kind!r} with the share {share!r} is not a part of a mix.")
        shares[kind] = float(share)
    return shares


def _wrong(path: Path, problem: str) -> DataError:
    return DataError(
        problem,
        hint=say(
            'give the profile.json of `annotate(...)`, or {{"consistent": 0.7, "irrelevant": 0.3}}.'
        ),
        source=str(path),
    )
