"""Read replies of every class by all strategies, and print the shares by class.

Usage: python -m validation.reader_classes [open|sealed|both] [--show CLASS]

Hostile replies: how many were taken, that is read although they state nothing of the model's own.
Honest ones: how many were read, and how many wrongly. The sealed third has other words; it was
first run when the reader was frozen.
"""

import argparse
import sys
from collections import Counter

from novarag import Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES
from novarag.strategies.frames import put_frame
from tests.support.machine import described
from tests.support.reader_classes import HONEST, KINDS, ReplyCase, cases

BOUNDED = ("corrections", "words-on-the-line", "foreign-reasoning-unclosed")
KNOWN = ("verbatim-copies", "edited-copies", "attributed-copies", "steps-that-disagree")
PROMISED = (*KNOWN, *BOUNDED)
LEAST = {"labels-of-languages": 0.9}


def read_case(case: ReplyCase) -> tuple[float | None, str]:
    """Return the confidence that was read from a case, or None, and the flaw."""
    shown = tuple(Passage(text=t) for t in case.passages) if case.known else ()
    group = PassageGroup(question=Question(id="q", text="?"), passages=shown)
    strategy = STRATEGIES[case.strategy]
    if case.framed:
        framed = strategy.framed("secret")
        reading = framed.read(put_frame(case.reply, framed.frame(group)), group=group)
    else:
        reading = strategy.read(case.reply, group=group if case.known else None, k=3)
    stated = reading.response.confidence if reading.response else None
    return stated, str(reading.flaw or "")


def shares(
    part: str,
) -> tuple[Counter[str], Counter[str], Counter[str], list[tuple[ReplyCase, str]]]:
    """Count the cases of each class, those that were read, those read wrongly; and list failures."""
    count, read, wrong, failed = Counter(), Counter(), Counter(), []
    for case in cases(part):
        stated, flaw = read_case(case)
        count[case.kind] += 1
        read[case.kind] += stated is not None
        wrong[case.kind] += stated is not None and not case.is_right(stated)
        if not case.is_right(stated):
            failed.append((case, flaw or str(stated)))
    return count, read, wrong, failed


def missed(part: str, count: Counter[str], read: Counter[str], wrong: Counter[str]) -> list[str]:
    """Name the classes that miss what they must show."""
    found = []
    for kind in KINDS:
        if kind in HONEST:
            least = LEAST.get(kind, 0.95)
            if read[kind] < least * count[kind] or wrong[kind]:
                found.append(kind)
        elif read[kind] > {True: 0, False: count[kind] / 67}[kind in KNOWN] and kind in PROMISED:
            found.append(kind)
    return [f"{part}: {kind}" for kind in found]


def main() -> int:
    """Print the shares of one part or of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="both", choices=["open", "sealed", "both"])
    parser.add_argument("--show", default="")
    options = parser.parse_args()
    print(described())
    misses = []
    for part in ("open", "sealed") if options.part == "both" else (options.part,):
        count, read, wrong, failed = shares(part)
        print(f"{part}:")
        for kind in KINDS:
            what = f"read, {wrong[kind]} wrongly" if kind in HONEST else "taken"
            print(f"  {kind:32} {read[kind]:4} of {count[kind]} {what}")
        misses += missed(part, count, read, wrong)
        for case, got in failed:
            if options.show in {case.kind, "all"}:
                print("---", case.kind, case.strategy, got, case.own, case.reply, sep="\n")
    print("missed:", ", ".join(misses) or "nothing")
    return int(bool(misses))


if __name__ == "__main__":
    sys.exit(main())
