"""Read a million grammar-fuzzed replies: no crash, no confidence outside [0, 1], and how fast.

Usage: python -m validation.fuzz [REPLIES]
"""

import random
import statistics
import sys
import time
import timeit
from collections import Counter

from novarag.strategies import FORMATS, STRATEGIES, read
from tests.support.grammar import KINDS, reply

replies = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
readers = {"plain": STRATEGIES["nova"].labels, "steps": STRATEGIES["multi-step"].labels, **FORMATS}
rng = random.Random(2026)
times, outcomes, outside = [], Counter(), 0
begun = time.process_time()
for i in range(replies):
    kind = KINDS[i % len(KINDS)]
    text = reply(rng, kind)
    start = time.process_time_ns()
    reading = read(text, readers[kind], k=3)
    times.append(time.process_time_ns() - start)
    outcomes[reading.flaw or "read"] += 1
    if reading.confidence is not None and not 0 <= reading.confidence <= 1:
        outside += 1
print(f"{replies:,} replies, 0 crashes, {outside} confidences outside [0, 1]")
median, high = statistics.median(times) / 1000, statistics.quantiles(times, n=100)[98] / 1000
print(f"median {median:.1f} us, 99th percentile {high:.1f} us a reply")
steps = range(20_000)
yard = min(timeit.repeat(lambda: sum(map(abs, steps)), number=1, repeat=50)) * 1e6
print(f"yardstick in the same run: sum(map(abs, range(20_000))) takes {yard:.0f} us")
print(f"{time.process_time() - begun:.0f} CPU-s in all, fuzzing included")
for outcome, count in outcomes.most_common():
    print(f"{count:9,}  {outcome}")
sys.exit(outside > 0 or median > 50)
