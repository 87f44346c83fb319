"""Print which records of long proofs are older than the code they vouch for.

    python -m tools.records

This informs: it exits with 1 only when a record or tools/long_proofs.toml names a path that is
gone, for then nobody would notice that the code behind it changes.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tools.record import RECORDS, ROOT, declared, hashes

if TYPE_CHECKING:
    from pathlib import Path

HEAD = ("proof", "recorded", "commit", "result", "today", "changed since")


def load(root: Path) -> dict[str, dict[str, Any]]:
    """Return all records by name."""
    found = sorted((root / RECORDS).glob("*.json"))
    return {path.stem: json.loads(path.read_bytes()) for path in found}


def row(record: dict[str, Any], now: dict[str, str | None]) -> tuple[str, ...]:
    """Say of one record what it is worth today."""
    changed = [path for path, then in record["vouches"].items() if now[path] != then]
    state = "older than its code" if changed else "current"
    if record["changed_meanwhile"]:
        state = "in doubt: its code changed while it ran"
    commit = record["commit"][:9] + ("" if record["clean"] else ", edited")
    result = "held" if record["exit_code"] == 0 else f"FAILED ({record['exit_code']})"
    return record["name"], record["date"][:10], commit, result, state, ", ".join(changed)


def main(root: Path = ROOT) -> int:
    """Print the table; 1 when a path is gone."""
    records, proofs = load(root), declared(root)
    named = {name: list(record["vouches"]) for name, record in records.items()}
    for name, proof in proofs.items():
        named.setdefault(name, []).extend(proof.vouches)
    now = hashes(root, sorted({path for paths in named.values() for path in paths}))
    rows = [row(record, now) for record in records.values()]
    rows += [(name, "never", "", "", "", "") for name in proofs if name not in records]
    for cells in (HEAD, ("---",) * len(HEAD), *rows):
        print(f"| {' | '.join(cells)} |")
    gone = {
        name: [p for p in dict.fromkeys(paths) if now[p] is None] for name, paths in named.items()
    }
    for name, paths in gone.items():
        if paths:
            print(f"{name} vouches for what is gone: {', '.join(paths)}. Fix: name its new place in tools/long_proofs.toml, and `make prove NAME={name}`.")  # fmt: skip
    return 1 if any(gone.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
