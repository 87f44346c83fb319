"""Is damage to a journal noticed? Thousands of cuts, swaps, splices and older selves, by class.

Each is done to a run that was killed, and then `show`, `recover` and `ask` must each name the
journal. Two classes are outside the promise and counted apart: what was written in the second after
the last heartbeat, and journal and lease both replaced by an older pair. Exits with 1 when anything
else goes unnoticed, or when a run that was gone on with has another table than the undisturbed one.

Usage: python -m validation.journal_damage [--times 5000] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.support.journal_damage import NOTICED, OUTSIDE, SEGMENTS, Killed, damaged

if TYPE_CHECKING:
    from collections import Counter


def run(times: int, seed: int) -> dict[str, Counter[str]]:
    """Damage journals on a disk and on an object store; return counts by class."""
    rng, shares = Random(seed), (0.72, 0.2, 0.08)
    found: dict[str, Counter[str]] = {}
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    for kinds, scheme, share in zip(
        (NOTICED, SEGMENTS, OUTSIDE), ("", "file://", ""), shares, strict=True
    ):
        with tempfile.TemporaryDirectory(dir=memory) as name:
            killed = Killed(Path(name), scheme)
            killed.make()
            found |= damaged(kinds, killed, round(times * share), rng)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.monotonic()
    found = run(options.times, options.seed)
    for kind, tally in found.items():
        seen_of = f"{tally['noticed']:,} of {tally['done']:,} noticed"
        outside = " (outside the promise)" if kind in OUTSIDE else ""
        rest = {k: v for k, v in tally.items() if v and k not in {"done", "noticed"}}
        print(f"{kind}{outside}: {seen_of}; {', '.join(f'{v:,} {k}' for k, v in rest.items())}")
    promised = [tally for kind, tally in found.items() if kind not in OUTSIDE]
    done, noticed = (sum(t[k] for t in promised) for k in ("done", "noticed"))
    different = sum(t["tables that differ"] for t in found.values())
    print(
        f"{noticed:,} of {done:,} noticed by show, recover and ask; tables that differ: {different}"
    )
    unlike = sum(t["asked other than was lost"] for t in found.values())
    print(f"runs that asked for more or less than was lost: {unlike}")
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(noticed != done or different > 0 or unlike > 0)


if __name__ == "__main__":
    main()
