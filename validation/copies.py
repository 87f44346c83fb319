"""Read 1,100,000 replies that copy a confidence of a passage, in another dress, passages known.

Usage: python -m validation.copies [REPLIES]

Filler between label and number, markup, escapes and the number's form are drawn for passage and reply
apart: of these none may be read. One in eleven is edited otherwise; of these the share is printed.
"""

import sys
import time
from collections import Counter

from novarag.strategies import STRATEGIES
from novarag.strategies.reader import read
from tests.support.copied_fields import copied_replies
from tests.support.machine import described


def taken(replies: int, seed: int) -> tuple[Counter[str], Counter[str], list[tuple[str, str]]]:
    """Count replies and those that were taken by kind of edit, '' for none; and show some."""
    labels = STRATEGIES["vanilla"].labels
    count, read_as_ours, shown = Counter(), Counter(), []
    for passage, reply, value, edit in copied_replies(replies, seed):
        stated = read(reply, labels, passages=(passage, "Nothing else.")).response
        count[edit] += 1
        if stated is not None and abs(stated.confidence - value) < 1e-9:
            read_as_ours[edit] += 1
            if not edit and len(shown) < 5:
                shown.append((passage, reply))
    return count, read_as_ours, shown


def readable(replies: int, seed: int) -> float:
    """Return the share of these replies that would be read if the passages were not known."""
    labels = STRATEGIES["vanilla"].labels
    drawn = list(copied_replies(replies, seed))
    return sum(read(reply, labels).response is not None for _, reply, _, _ in drawn) / len(drawn)


def main() -> int:
    """Print what was taken."""
    replies = int(sys.argv[1]) if len(sys.argv) > 1 else 1_100_000
    begun = time.process_time()
    count, found, shown = taken(replies, 2026)
    print(described())
    print(f"{replies:,} replies, {time.process_time() - begun:.0f} CPU-s")
    print(f"{100 * readable(20_000, 7):.1f} % of such replies are read where passages are unknown")
    print(f"taken: {found['']:,} of {count['']:,} copies")
    for edit in sorted(set(count) - {""}):
        print(f"  {100 * found[edit] / count[edit]:5.1f} % of {count[edit]:,}  {edit}")
    for passage, reply in shown:
        print("---", repr(passage), repr(reply), sep="\n")
    return int(found[""] > 0)


if __name__ == "__main__":
    sys.exit(main())
