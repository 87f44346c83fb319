"""Thousands of odd calls of the command line in one process: no traceback, and a known exit code.

    python -m validation.odd_calls            # 6,300 calls, half of them for the keys of TOML files, minutes
    python -m validation.odd_calls --calls 500 --seed 7

Every key of every TOML file gets each odd value; the rest goes over all verbs in turn: odd files,
places and values, JSON changed somewhere, manifests of other versions, words without sense, Ctrl-C.
Nothing leaves the machine: models are simulated or closed ports, and no other name is looked up.
"""

import argparse
import os
import re
import resource
import socket
import sys
from collections import Counter, defaultdict
from itertools import chain, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from tests.support.odd.running import look_up

LIMIT = 5.0
MEMORY = 12 * 2**30
KNOWN = {0, 1, 2, 130}
BY_THE_NET = re.compile(r"; NOVARAG_TRACEBACK=1 shows where$", re.MULTILINE)


def shut_off() -> None:
    """Let nothing leave the machine, and nothing take all of it."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "NOVARAG_DATA": "nowhere"}
    os.environ.pop("NOVARAG_TRACEBACK", None)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    socket.getaddrinfo = look_up


def main() -> int:
    """Call, count and print; 1 where a call showed a traceback or an unknown code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=6300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="how many tracebacks to print")
    parser.add_argument("--words", action="store_true", help="print each call and its last line")
    given = parser.parse_args()
    shut_off()
    from tests.support.odd.files import make_files

    with TemporaryDirectory(prefix="odd-calls") as folder:
        os.chdir(folder)
        make_files(Path(folder))
        return _run(Path(folder), given)


def _run(home: Path, given: argparse.Namespace) -> int:
    from tests.support.odd.calls import Maker
    from tests.support.odd.running import call

    maker = Maker(home, given.seed)
    settings = list(maker.settings_calls())
    drawn = Random(given.seed).sample(settings, min(len(settings), given.calls // 2))
    calls = chain(drawn, islice(maker.random_calls(), given.calls - len(drawn)))
    codes: dict[str, Counter[Any]] = defaultdict(Counter)
    faults, slow, net, began = [], [], 0, monotonic()
    for one in calls:
        done = call(one.words, stdin=one.stdin, limit=one.interrupt or LIMIT)
        strange = not done.fault and done.code not in KNOWN
        codes[one.verb][done.code if not done.fault else "traceback"] += 1
        net += bool(BY_THE_NET.search(done.shown))
        if done.fault or strange:
            faults.append((one, done))
        if done.interrupted and one.interrupt is None:
            slow.append((one, done))
        if given.words:
            last = done.shown.strip().splitlines()[-1:]
            print(done.code, f"{done.seconds:.2f}", repr(one.words)[:200], repr(last)[:300])
            sys.stdout.flush()
    _print(codes, faults, slow, given, monotonic() - began)
    print(f"{net} calls were refused by the net at the door, the others where the input is read")
    return 1 if faults else 0


def _print(
    codes: dict[str, Counter[Any]], faults: list[Any], slow: list[Any],
    given: argparse.Namespace, seconds: float,
) -> None:  # fmt: skip
    for one, done in faults[: given.show]:
        print(f"\n--- {one.words!r} ({done.code})"[:600], "\n", done.fault[-2500:] or done.shown)
    columns = [0, 1, 2, 130, "other", "traceback"]
    print(f"{'verb':<14}" + "".join(f"{c!s:>10}" for c in ("calls", *columns)))
    total: Counter[Any] = Counter()
    for verb in sorted(codes):
        total += codes[verb]
        print(f"{verb:<14}" + _row(codes[verb], columns))
    print(f"{'all':<14}" + _row(total, columns))
    for one, done in slow[: given.show]:
        print(f"interrupted after {done.seconds:.1f} s: {one.words!r}"[:300])
    print(f"{len(slow)} calls took over {LIMIT:g} s and were interrupted; {seconds:.0f} s in all")
    print(
        f"{total.total():,} odd calls, {len({verb.split()[0] for verb in codes})} verbs, {len(faults)} tracebacks"
    )


def _row(found: Counter[Any], columns: list[Any]) -> str:
    other = sum(n for code, n in found.items() if code not in columns)
    cells = [other if c == "other" else found[c] for c in columns]
    return "".join(f"{n:>10,}" for n in (found.total(), *cells))


if __name__ == "__main__":
    sys.exit(main())
