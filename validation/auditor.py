"""Plant cues between passages and see the auditor find them; draw clean groups and see it pass.

Usage: python -m validation.auditor [--draws 200] [--plants 5]

Ends with 1 where a planted cue is missed, or where more clean draws are called shortcuts than
--alarms allows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace

from novarag.noise.audit import MARGIN, audit
from tests.support.planted_cues import PLANTS, made_up_groups

SHARES = (1.0, 0.5)


def main() -> int:
    """Run both halves, and say what held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200, help="Clean draws.")
    parser.add_argument("--plants", type=int, default=5, help="Seeds for every planted cue.")
    parser.add_argument("--groups", type=int, default=450, help="Groups in a draw.")
    parser.add_argument("--alarms", type=int, default=16, help="False alarms that are allowed.")
    options = parser.parse_args()
    start = time.process_time()
    missed = plant(options.plants, options.groups)
    alarms = clean(options.draws, options.groups)
    spent = (time.process_time() - start) / (options.draws + len(PLANTS) * 2 * options.plants)
    print(f"{spent:.2f} CPU-s an audit of {options.groups} groups, drawing them included")
    print(f"{'fails' if missed else 'holds'}: planted cues missed: {missed}, at most 0")
    failed = alarms > options.alarms
    print(f"{'fails' if failed else 'holds'}: false alarms: {alarms}, at most {options.alarms}")
    return 1 if missed or failed else 0


def plant(seeds: int, groups: int) -> int:
    """Count the draws whose planted cue is not found where every group obeys it."""
    missed = 0
    print(f"planted cues, {groups} groups of 3 passages, {seeds} draws each:")
    for name, (cue, _) in PLANTS.items():
        for obeyed in SHARES:
            audits = [
                audit(made_up_groups(seed, plant=name, obeyed=obeyed, groups=groups))
                for seed in range(seeds)
            ]
            found = sum(any(f.cue == cue for f in a.shortcuts) for a in audits)
            accuracies = [a.worst(cue).accuracy for a in audits]
            print(
                f"  {name:<29} obeyed by {obeyed:4.0%}: found in {found} of {seeds} by {cue}, told"
                f" in {min(accuracies):.1%} to {max(accuracies):.1%}"
            )
            missed += seeds - found if obeyed == 1 else 0
    return missed


def clean(draws: int, groups: int) -> int:
    """Count clean draws that are called a shortcut."""
    cues: Counter[str] = Counter()
    alarms = Counter(dict.fromkeys((MARGIN, 0.0), 0))
    for seed in range(draws):
        drawn = made_up_groups(seed, groups=groups, k=3 + seed % 3, one_each=bool(seed // 3 % 2))
        found = audit(drawn)
        cues.update({f.cue for f in found.shortcuts})
        for margin in alarms:
            alarms[margin] += bool(replace(found, margin=margin).shortcuts)
    print(f"clean draws, {groups} groups of 3, 4 or 5 passages, one or three of a question:")
    for margin, count in alarms.items():
        print(f"  margin {100 * margin:g} points: {count} false alarms in {draws}")
    for cue, count in cues.most_common():
        print(f"  by {cue}: {count}")
    return alarms[MARGIN]


if __name__ == "__main__":
    sys.exit(main())
