"""Frames on a real server: replies held to their form, and replies given freely.

Usage: python -m validation.frames_served [--url URL=NAME] [--replies 200]

Held, every complete reply must be read by its frame. Freely, the share that carries it is printed,
beside the share that is read without a frame: whether a small model keeps such labels is a fact
about the model.
"""

import argparse
import sys
from collections import Counter

from novarag import Access, Sampling, ask, load_benchmark
from novarag.strategies import VANILLA
from tests.support.machine import described

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--url", default="http://127.0.0.1:8411=base")
parser.add_argument("--replies", type=int, default=200)
options = parser.parse_args()

groups = [g for g in load_benchmark("hotpotqa") if g.kind is not None][: options.replies]
access = Access(timeout=600, concurrency=16)
print(described())
failed = 0
for name, frame, form in (
    ("held, framed", True, VANILLA.pattern(3)),
    ("freely, framed", True, None),
    ("freely, no frame", False, None),
):
    run = ask(
        groups, VANILLA, options.url, frame=frame, access=access,
        sampling=Sampling(max_tokens=80, regex=form),
    )  # fmt: skip
    trials = list(run)
    complete = [trial for trial in trials if not trial.completion.truncated]
    read = [trial for trial in complete if trial.response is not None]
    print(f"{name}: {len(trials)} replies, {len(complete)} complete, {len(read)} of them read")
    for flaw, count in Counter(t.flaw for t in complete if t.flaw).most_common():
        print(f"{count:9,}  {flaw}")
    failed += form is not None and len(read) < len(complete)
sys.exit(failed > 0)
