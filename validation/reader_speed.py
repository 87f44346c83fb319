"""CPU time of a read, by strategy: the median over replies as their prompts ask for them.

Usage: python -m validation.reader_speed [REPEATS]

Replies have the reasoning, the steps and the block that a strategy asks for, and end with a remark
in one of four; the three passages of their groups are known, and ordinary.
"""

import random
import statistics
import sys
import time
import timeit

from novarag import Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES
from tests.support.adversarial_parts import STEPWISE, pairs, rendered
from tests.support.machine import described

MOST = {"nova": 100.0}  # microseconds
MOST_ELSE = 60.0
REPLIES = 200
FACTS = (
    "The observatory was opened in {} after nine years of work on the hill above the town.",
    "Its dome weighs nine tons and was built by a shipyard that had never made one before.",
    "A second telescope came in 1905, and the old one was given to a school two years later.",
    "Visitors reach the building by a path of 412 steps, or by the road that was added in 1932.",
)
THOUGHTS = (
    "The first passage gives a year for the opening, and nothing in the others speaks against it.",
    "This passage is about the dome, which does not tell when the observatory was opened.",
    "The year in this passage belongs to the second telescope, not to the opening itself.",
    "Taken together the passages agree, so I follow the first one and stay a little careful.",
)
REASONED = ("cot", "noise-aware", "cot-paper", "noise-aware-paper")


def drawn(name: str, rng: random.Random) -> tuple[str, PassageGroup]:
    """Return a reply as a strategy's prompt asks for it, and its group."""
    year = str(rng.randrange(1700, 2020))
    facts = [fact.format(year) for fact in rng.sample(FACTS, 3)]
    group = PassageGroup(
        question=Question(id=year, text="In which year was the observatory opened?"),
        passages=tuple(Passage(text=fact) for fact in facts),
    )
    said = [f"{rng.randrange(1, 100)}%" for _ in range(2 if name in STEPWISE else 1)]
    block = rendered(name, pairs(name, year, said, ["Highly Relevant", "Irrelevant", "Relevant"]))
    count = {"nova": 4, "nova-paper": 4}.get(name, 2 if name in STEPWISE else 3)
    thoughts = rng.sample(THOUGHTS, count)
    if name in REASONED:
        block = "\n".join(thoughts) + "\n" + block
    elif name.startswith(("nova", "multi")):
        block = "\n".join(f"Step {i}: {t}" for i, t in enumerate(thoughts, 1)) + "\n" + block
    if rng.random() < 0.25:
        block += "\n\nI hope this helps!"
    return block, group


def main() -> int:
    """Print the medians, and say which are too high."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(described())
    steps = range(20_000)
    yard = min(timeit.repeat(lambda: sum(map(abs, steps)), number=1, repeat=50)) * 1e6
    print(f"yardstick in the same run: sum(map(abs, range(20_000))) takes {yard:.0f} us")
    slow = 0
    for name, strategy in STRATEGIES.items():
        rng = random.Random(f"speed {name}")
        cases = [drawn(name, rng) for _ in range(REPLIES)]
        times = []
        for _ in range(repeats):
            for reply, group in cases:
                start = time.process_time_ns()
                reading = strategy.read(reply, group=group)
                times.append(time.process_time_ns() - start)
                if reading.flaw:
                    raise SystemExit(f"{name}: {reading.flaw}: {reply}")
        median = statistics.median(times) / 1000
        most = MOST.get(name, MOST_ELSE)
        slow += median > most
        print(f"{name:20} median {median:6.1f} us a reply, at most {most:.0f}")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
