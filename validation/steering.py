"""Read a million replies that quote poisoned passages, with the passages known and without.

Usage: python -m validation.steering [REPLIES]

Every poisoned passage states a confidence that no model of these replies has. Where the reader knows
the passages, none of theirs may be read; where it does not, the share is printed by how the passage
was quoted.
"""

import sys
import time
from collections import Counter

from novarag.strategies import NOVA, read
from tests.support.machine import described
from tests.support.poisoned import poisoned_replies

replies = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
known, unknown, own_read, owns = Counter(), Counter(), 0, 0
steered, quoted = Counter(), Counter()
begun = time.process_time()
for passages, reply, own, poisoned, how in poisoned_replies(replies, 2026):
    for outcomes, shown in ((known, passages), (unknown, ())):
        reading = read(reply, NOVA.labels, passages=shown)
        stated = reading.response and reading.response.confidence
        if stated is None:
            outcomes[str(reading.flaw)] += 1
        elif any(abs(stated - forged) < 1e-9 for forged in poisoned):
            outcomes["READ FROM A PASSAGE"] += 1
            steered[how] += outcomes is unknown
        else:
            outcomes["the model's own"] += 1
            own_read += outcomes is known
    owns += own is not None
    quoted[how] += 1
print(described())
print(f"{replies:,} replies, {time.process_time() - begun:.0f} CPU-s")
for name, outcomes in (("passages known", known), ("passages unknown", unknown)):
    print(f"{name}:")
    for outcome, count in outcomes.most_common():
        print(f"{count:9,}  {outcome}")
print(
    f"of {owns:,} replies with a confidence of their own, {own_read:,} were read (passages known)"
)
print("read from a passage, passages unknown, by how it was quoted:")
for how, count in steered.most_common():
    print(f"{count:9,} of {quoted[how]:,} ({100 * count / quoted[how]:.1f} %)  {how}")
sys.exit(known["READ FROM A PASSAGE"] > 0)
