"""Hold the page of evidence to the records of long proofs.

    python -m tools.records            print the records, and what the page says wrongly of them
    python -m tools.records --write    make the page say of each record what it is worth today

A row of docs/evidence.md that is measured by `make prove NAME=X` ends with what the record of X is
worth: missing, older than the code it vouches for, failed. It exits with 1 where a row says
something else or has another date than its record, where a proof is quoted by no page, and where
a record or tools/long_proofs.toml names a path that is gone.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import TYPE_CHECKING, Any

from tools.record import RECORDS, ROOT, declared, hashes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

HEAD = ("proof", "recorded", "commit", "result", "today", "changed since")
PAGE = "docs/evidence.md"
AT_MOST = 25  # proofs: more are run by nobody
MEASURED = re.compile(r"make prove NAME=([a-z-]+)")
MISSING = "no record"


def load(root: Path) -> dict[str, dict[str, Any]]:
    """Return all records by name."""
    found = sorted((root / RECORDS).glob("*.json"))
    return {path.stem: json.loads(path.read_bytes()) for path in found}


def changed_paths(record: dict[str, Any], now: dict[str, str | None]) -> list[str]:
    """Return the paths whose code is no longer what the record vouches for."""
    return [path for path, then in record["vouches"].items() if now[path] != then]


def failed_lines(record: dict[str, Any]) -> list[str]:
    """Return the commands that failed."""
    return [line["command"] for line in record["lines"] if line["exit_code"]]


def row(record: dict[str, Any], now: dict[str, str | None]) -> tuple[str, ...]:
    """Say of one record what it is worth today."""
    changed = changed_paths(record, now)
    state = "older than its code" if changed else "current"
    if record["changed_meanwhile"]:
        state = "in doubt: its code changed while it ran"
    commit = record["commit"][:9] + ("" if record["clean"] else ", edited")
    failed = failed_lines(record)
    result = f"FAILED ({len(failed)} of {len(record['lines'])} lines)" if failed else "held"
    return record["name"], record["date"][:10], commit, result, state, ", ".join(changed)


def worth(record: dict[str, Any] | None, now: dict[str, str | None]) -> str:
    """Say in a cell of the page what a record is worth."""
    if record is None:
        return MISSING
    words = [f"`{record['name']}.json`"]
    if failed_lines(record):
        words.append("a line failed")
    if record["changed_meanwhile"]:
        words.append("code changed while it ran")
    elif changed_paths(record, now):
        words.append("older than its code")
    return ", ".join(words)


def cells_of(line: str) -> list[str]:
    """Return the cells of a row of a table, or none."""
    return line.split(" | ") if line.startswith("| ") and line.endswith(" |") else []


def rewritten(page: str, cells: dict[str, str]) -> str:
    """Return the page with what each quoted record is worth in the last cell of its rows."""
    lines = page.splitlines(keepends=True)
    for number, line in enumerate(lines):
        found = MEASURED.search(line)
        parts = cells_of(line.rstrip("\n"))
        if found and parts and found[1] in cells:
            lines[number] = " | ".join([*parts[:-1], f"{cells[found[1]]} |\n"])
    return "".join(lines)


def wrong_cells(page: str, fitting: str) -> Iterator[str]:
    """Find rows that say something else of a record than it is worth."""
    for ours, theirs in zip(page.splitlines(), fitting.splitlines(), strict=True):
        if ours != theirs:
            told, worth_now = (line.split(" | ")[-1] for line in (ours, theirs))
            yield f"{PAGE} says {told!r}; it is {worth_now!r}. Fix: python -m tools.records --write"


def wrong_dates(page: str, records: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Find rows whose figures are of another day than the record they name."""
    for line in page.splitlines():
        found, parts = MEASURED.search(line), cells_of(line)
        record = records.get(found[1]) if found else None
        if record and parts and parts[-2] != record["date"][:10]:
            yield f"{PAGE}: a row on {record['name']} is of {parts[-2]}, its record of {record['date'][:10]}. Fix: write the record's figures into the row."  # fmt: skip


def faults(root: Path, proofs: Iterable[str]) -> Iterator[str]:
    """Find proofs that no page quotes, and too many of them."""
    names = list(proofs)
    if len(names) > AT_MOST:
        yield f"{len(names)} proofs, at most {AT_MOST}. Fix: drop those that no page needs."
    quoted = {
        name
        for page in (root / "docs").rglob("*.md")
        for name in MEASURED.findall(page.read_text("utf-8"))
    }
    for name in names:
        if name not in quoted:
            yield f"{name} is quoted by no page. Fix: quote its figures, or drop it."


def gone_paths(named: dict[str, list[str]], now: dict[str, str | None]) -> Iterator[str]:
    """Find paths that are gone: nobody would notice that the code behind them changes."""
    for name, paths in named.items():
        if gone := [path for path in dict.fromkeys(paths) if now[path] is None]:
            yield f"{name} vouches for what is gone: {', '.join(gone)}. Fix: name its new place in tools/long_proofs.toml, and `make prove NAME={name}`."  # fmt: skip


def main(words: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Print the table, and write the page or say what is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE}")
    given = parser.parse_args(words)
    records, proofs = load(root), declared(root)
    named = {name: list(record["vouches"]) for name, record in records.items()}
    for name, proof in proofs.items():
        named.setdefault(name, []).extend(proof.vouches)
    now = hashes(root, sorted({path for paths in named.values() for path in paths}))
    rows = [row(record, now) for record in records.values()]
    rows += [(name, "never", "", "", "", "") for name in proofs if name not in records]
    for cells in (HEAD, ("---",) * len(HEAD), *rows):
        print(f"| {' | '.join(cells)} |")
    page = (root / PAGE).read_text("utf-8")
    fitting = rewritten(page, {name: worth(records.get(name), now) for name in proofs})
    said = [*gone_paths(named, now), *faults(root, proofs), *wrong_dates(page, records)]
    if given.write:
        (root / PAGE).write_text(fitting, encoding="utf-8")
    elif page != fitting:
        said += wrong_cells(page, fitting)
    for fault in said:
        print(fault)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
