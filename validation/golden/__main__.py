"""Run the same commands with two installs on one machine, and compare every byte.

The base is the commit that BASE names: move it on whenever a release or an issue ends, so that the
list of changes on purpose stays short. Run it at the root:

    python -m validation.golden [--only PATTERN] [--strict] [--base REV]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from validation.golden.changes import CHANGES
from validation.golden.commands import Command, chosen
from validation.golden.comparing import Comparison, Result
from validation.golden.inputs import write_inputs
from validation.golden.installs import ROOT, Install, install_revision, install_tree
from validation.golden.masking import STDERR, STDOUT, masks
from validation.golden.running import Side, at_work

BASE = "c239636"
"""The commit before the three nouns of the middle: scoring, runner, answers."""

FAULTS = {"429": 0.1, "500": 0.1, "malform": 0.05, "truncate": 0.05}
_TAIL = 1500  # characters of standard error


def main() -> int:
    """Run what was asked for; 1 where anything differs."""
    options = _options()
    place = Path(options.place).resolve()
    with ThreadPoolExecutor(2) as pool, ExitStack() as stack:
        made = pool.map(
            lambda work: work(),
            (lambda: install_revision(options.base, place / "base"),
             lambda: install_tree(place / "head")),
        )  # fmt: skip
        base, head = made
        faulty = [stack.enter_context(_chaos(faults=FAULTS)) for _ in (base, head)]
        server = stack.enter_context(_chaos())
        _prepare(place / "inputs", server, base, head)
        sides = [
            stack.enter_context(
                at_work(install, _data(), {"server": server, "faulty": own}, cold=options.cold)
            )
            for install, own in zip((base, head), faulty, strict=True)
        ]
        comparison = Comparison(
            masks(folders=tuple(str(s.install.work) for s in sides), servers=tuple(faulty)), CHANGES
        )
        wanted = chosen(options.only, strict=options.strict)
        count = _run_all(wanted, sides, comparison, pool, strict=options.strict)
    return _sum_up(*count, comparison, whole=options.only == "*" and not count[2])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__)
    parser.add_argument("--base", default=BASE, help=f"Commit to compare with; default {BASE}.")
    parser.add_argument("--only", default="*", help="Pattern of commands; what they need runs too.")
    parser.add_argument(
        "--place", default=str(ROOT / "build" / "golden"), help="Folder for it all."
    )
    parser.add_argument(
        "--strict", action="store_true", help="Compare the texts of --help and of refusals, too."
    )
    parser.add_argument(
        "--cold", action="store_true", help="A fresh Python for every command: slower by far."
    )
    return parser.parse_args()


def _chaos(**options):
    from tests.support.chaos.serving import chaos

    return chaos(**options)


def _data() -> Path | None:
    place = (ROOT / os.environ.get("NOVARAG_DATA", "../shared/data")).resolve()
    return place if (place / "naacl").is_dir() else None


def _prepare(inputs: Path, server: str, base: Install, head: Install) -> None:
    """Write the inputs once, and give each install a copy."""
    shutil.rmtree(inputs, ignore_errors=True)
    write_inputs(inputs, server)
    if find_spec("transformers"):
        subprocess.run(
            [sys.executable, str(Path(__file__).with_name("trained.py")), str(inputs)],
            stderr=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    for install in (base, head):
        shutil.rmtree(install.work, ignore_errors=True)
        shutil.copytree(inputs, install.work)


def _run_all(
    commands: list[Command],
    sides: list[Side],
    comparison: Comparison,
    pool: ThreadPoolExecutor,
    *,
    strict: bool,
) -> tuple[int, int, int]:
    """Run the commands with both installs at once; return how many ran, differed, were left out."""
    ran = differed = left_out = 0
    missing: set[str] = set()
    for command in commands:
        lacking = [want for want in command.wants if not _at_hand(want, sides[0])]
        if lacking or missing.intersection(command.needs):
            missing.add(command.name)
            left_out += 1
            print(f"left out: {command.name} needs {', '.join(lacking) or 'one left out'}")
            continue
        base, head = pool.map(lambda side, now=command: side.run(now), sides)
        before = comparison.files
        differences = comparison.compare(command.name, base, head, _streams(command, strict=strict))
        if base.code != command.code:
            differences.append(f"exit code {base.code}, not the {command.code} that was expected")
        ran, differed = ran + 1, differed + bool(differences)
        files = comparison.files - before
        print(f"{'DIFF' if differences else 'ok'}  {files} files  {command.name}", flush=True)
        if differences:
            _show(command, differences, base, head)
    return ran, differed, left_out


def _streams(command: Command, *, strict: bool) -> list[str]:
    """Name what is compared besides files: a refusal's text and a help's only where asked for."""
    found = [] if command.loose and not strict else [STDOUT]
    return [*found, STDERR] if strict and command.code == 2 else found


def _at_hand(want: str, side: Side) -> bool:
    return side.data is not None if want == "data" else find_spec(want) is not None


def _show(command: Command, differences: list[str], base: Result, head: Result) -> None:
    print(f"    novarag {command.line}")
    for line in differences:
        print(f"    {line}")
    for name, result in (("base", base), ("head", head)):
        tail = result.stderr.decode("utf-8", "replace")[-_TAIL:].strip()
        print(
            f"    standard error of the {name}:", *tail.splitlines() or ["(empty)"], sep="\n      "
        )


def _sum_up(ran: int, differed: int, left_out: int, comparison: Comparison, *, whole: bool) -> int:
    for name, count in sorted(comparison.masked.items()):
        reason = next(mask.reason for mask in comparison.masks if mask.name == name)
        print(f"masked {count:,} x {name}: {reason}")
    stale = comparison.stale() if whole else []
    for change in stale:
        print(f"stale change: {change.command} {change.file}: {change.reason}")
    more = f", {left_out} left out" if left_out else ""
    print(
        f"{ran} commands, {comparison.files:,} files compared, {comparison.masked.total():,} masked"
        f" parts, {differed} differences{more}"
    )
    return 1 if differed or stale else 0


if __name__ == "__main__":
    sys.exit(main())
