"""Run long proofs, and write a record of each: commit, machine, figures, the code it vouches for.

    python -m tools.record             the proofs of tools/long_proofs.toml, and what each needs
    python -m tools.record NAME…       some of them
    python -m tools.record --all       all of them, one after the other

`make prove NAME="NAME…"` calls this.

A record is validation/records/NAME.json. Git's own hash of each vouched path, as it stands in the
working tree when the proof begins, tells later whether that code has changed since; `tools.records`
prints it. A line of a proof that fails is recorded as failed, and the next one runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.machine import described, shared_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parents[1]
TABLE, RECORDS = Path("tools/long_proofs.toml"), Path("validation/records")
KEPT = 40  # lines of what each line of a proof printed
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")


@dataclass(frozen=True)
class Proof:
    """Lines for bash, and the paths whose code they vouch for."""

    name: str
    what: str
    takes: str
    run: tuple[str, ...]
    vouches: tuple[str, ...]
    needs: tuple[str, ...] = ()


def declared(root: Path) -> dict[str, Proof]:
    """Return the proofs of the table by name."""
    table = tomllib.loads((root / TABLE).read_text("utf-8"))
    return {
        row["name"]: Proof(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})
        for row in table["proof"]
    }


def git(root: Path, *words: str, **environment: str) -> str:
    """Return what git prints."""
    done = subprocess.run(
        ["git", *words], cwd=root, env=os.environ | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def hashes(root: Path, paths: Iterable[str]) -> dict[str, str | None]:
    """Return git's hash of each path as it stands in the working tree; None where it is gone."""
    wanted = dict.fromkeys(paths)
    there = [path for path in wanted if (root / path).exists()]
    if not there:
        return wanted
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # an index of its own: the real one stays as it is
        index = str(Path(folder, "index"))
        git(root, "add", "--all", "--", *there, GIT_INDEX_FILE=index)
        tree = git(root, "write-tree", GIT_INDEX_FILE=index)
    return wanted | {path: git(root, "rev-parse", f"{tree}:{path}") for path in there}


def is_clean(root: Path) -> bool:
    """Say whether the working tree is that of the commit, records aside."""
    return not git(root, "status", "--porcelain", "--", ".", f":(exclude){RECORDS}")


def unmet(needs: Iterable[str], root: Path) -> list[str]:
    """Return the needs that are not met here."""
    return [need for need in needs if not _met(*need.partition(":")[::2], root)]


def _met(kind: str, what: str, root: Path) -> bool:
    match kind:
        case "root":
            return os.geteuid() == 0
        case "data":
            return shared_data().is_dir()
        case "module":
            return find_spec(what) is not None
        case "program":
            return shutil.which(what) is not None
        case "path":
            return (root / what).exists()
        case "variable":
            return what in os.environ
        case "server":
            return _answers(*what.rsplit(":", 1))
    raise SystemExit(f"{TABLE}: nobody knows how to look for the need {kind!r}")


def _answers(host: str, port: str) -> bool:
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        return False
    return True


def run(line: str, root: Path) -> dict[str, Any]:
    """Run a line of bash, show what it prints, and return its exit code and its last lines."""
    kept: deque[str] = deque(maxlen=KEPT)
    # `make prove` is itself a make: a make below it would print where it enters and leaves.
    ours = {key: value for key, value in os.environ.items() if key not in OF_MAKE}
    began = time.monotonic()
    with subprocess.Popen(
        ["bash", "-ec", line], cwd=root, env=ours, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for printed in process.stdout:
            print(printed, end="", flush=True)
            kept.append(_without_places(printed.rstrip(), root))
    seconds = round(time.monotonic() - began, 1)
    facts = {"command": line, "exit_code": process.returncode, "seconds": seconds}
    return facts | {"printed": list(kept)}


def _without_places(line: str, root: Path) -> str:
    """Leave out where this machine keeps things."""
    for place, name in ((root, "."), (sys.prefix, "ENVIRONMENT"), (Path.home(), "HOME")):
        if str(place) != "/":
            line = line.replace(str(place), name)
    return line


def record(proof: Proof, root: Path = ROOT) -> bool:
    """Run all lines of a proof and write its record; say whether each of them held."""
    before = hashes(root, proof.vouches)
    if gone := [path for path, found in before.items() if found is None]:
        sys.exit(f"{proof.name} vouches for what is not there: {', '.join(gone)}")
    facts: dict[str, Any] = {"name": proof.name, "commit": git(root, "rev-parse", "HEAD")}
    facts |= {"clean": is_clean(root), "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
    facts |= {"machine": described()}
    lines = [run(line, root) for line in proof.run]
    after = hashes(root, proof.vouches)
    facts |= {"changed_meanwhile": [path for path in before if before[path] != after[path]]}
    facts |= {"vouches": before, "lines": lines}
    target = root / RECORDS / f"{proof.name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    failed = [line["command"] for line in lines if line["exit_code"]]
    for command in failed:
        print(f"== {proof.name}: failed: {command}")
    print(f"== {proof.name}: {len(lines) - len(failed)} of {len(lines)} lines held, {RECORDS / target.name}")  # fmt: skip
    return not failed


def show(proofs: Iterable[Proof], root: Path) -> None:
    """Print what can be proven, how long it takes on two cores, and what is missing here for it."""
    for proof in proofs:
        needs = f"; needs {', '.join(proof.needs)}" if proof.needs else ""
        missing = unmet(proof.needs, root)
        lack = f" (not here: {', '.join(missing)})" if missing else ""
        print(f"{proof.name}: {proof.what} ({proof.takes}{needs}){lack}")


def main(words: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Record what was asked for; 1 when a proof failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true", help="every proof of the table")
    given = parser.parse_args(words)
    known = declared(root)
    if unknown := [name for name in given.names if name not in known]:
        sys.exit(f"{TABLE} has no {', '.join(unknown)}; it has {', '.join(known)}")
    proofs = list(known.values()) if given.all else [known[name] for name in given.names]
    if not proofs:
        show(known.values(), root)
    failed, left_out = [], []
    for proof in proofs:
        if missing := unmet(proof.needs, root):
            left_out.append(f"{proof.name} (needs {', '.join(missing)})")
        elif not record(proof, root):
            failed.append(proof.name)
    for said, names in (("left out", left_out), ("failed", failed)):
        if names:
            print(f"{said}: {', '.join(names)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
