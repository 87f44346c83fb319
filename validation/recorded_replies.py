"""Replies of a real small model to `nova`, `multi-step` and `cot`, read by two versions.

Usage: python -m validation.recorded_replies record [--url URL=NAME] [--replies 2000] [--out DIR]
       python -m validation.recorded_replies compare [--base REV] [--out DIR] [--show N]

`record` asks a server, as runs that can be killed and go on: half of the replies freely, half held
to the strategy's form, since the smallest models keep no form by themselves. `compare` reads every reply with the
reader of a commit and with today's, passages known, and prints what of the former is still read,
with the same value, and each class of new refusals.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

from novarag import Access, Sampling, ask, load_benchmark, open_run
from novarag.strategies import STRATEGIES
from tests.support.machine import described
from validation.golden.installs import install_revision

STRATEGIES_ASKED = ("nova", "multi-step", "cot")
FORMS = ("held", "freely")
K, SAMPLES = 3, 4
BASE = "055ddb3"
READ = """
import json, sys
from novarag.strategies import STRATEGIES
for line in sys.stdin:
    case = json.loads(line)
    reading = STRATEGIES[case["strategy"]].read(case["reply"], k=case["k"])
    print(json.dumps(None if reading.flaw else reading.confidence))
"""


def record(url: str, replies: int, out: Path) -> None:
    """Ask the server for as many replies of each strategy, held to its form and freely."""
    share = -(-replies // (len(STRATEGIES_ASKED) * len(FORMS) * SAMPLES))
    groups = [g for g in load_benchmark("hotpotqa") if g.kind and len(g.passages) == K][:share]
    access = Access(timeout=1200, concurrency=16)
    for form, name in product(FORMS, STRATEGIES_ASKED):
        held = STRATEGIES[name].pattern(K, step_length=60) if form == "held" else None
        sampling = Sampling(n=SAMPLES, temperature=0.7, seed=1, max_tokens=220, regex=held)
        ask(groups, name, url, out=out / f"{name}-{form}", sampling=sampling, access=access)


def compare(base: str, out: Path, show: int) -> int:
    """Read what was recorded by both readers, and print how they differ."""
    runs = [out / f"{name}-{form}" for form, name in product(FORMS, STRATEGIES_ASKED)]
    trials = [t for run in runs for t in open_run(run)]
    cases = [
        {"strategy": t.strategy, "reply": t.completion.text, "k": len(t.group.passages)}
        for t in trials
    ]
    install = install_revision(base, Path("build/golden/base").resolve())
    done = subprocess.run(
        [sys.executable, "-c", READ], input="".join(json.dumps(c) + "\n" for c in cases),
        env=install.environment(None), capture_output=True, text=True, check=True,
    )  # fmt: skip
    before = [json.loads(line) for line in done.stdout.splitlines()]
    seen, kept, refused, examples = 0, 0, Counter(), []
    for trial, old in zip(trials, before, strict=True):
        if old is None:
            continue
        now = STRATEGIES[trial.strategy].read(trial.completion.text, group=trial.group)
        value = now.response and now.response.confidence
        seen += 1
        kept += value == old
        if value != old:
            why = str(now.flaw or "another value")
            refused[why] += 1
            examples.append((trial.strategy, why, old, value, trial.completion.text))
    print(described())
    print(f"{len(trials):,} replies; {seen:,} read by {base}, {kept:,} of them as before", end="")
    print(f" ({100 * kept / max(1, seen):.2f} %)")
    for why, count in refused.most_common():
        print(f"{count:9,}  {why}")
    for example in examples[:show]:
        print("---", *example[:4], example[4], sep="\n")
    return int(kept < 0.99 * seen)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("what", choices=["record", "compare"])
parser.add_argument("--url", default="http://127.0.0.1:8411=base")
parser.add_argument("--replies", type=int, default=2000)
parser.add_argument("--out", type=Path, default=Path("build/recorded"))
parser.add_argument("--base", default=BASE)
parser.add_argument("--show", type=int, default=0)
options = parser.parse_args()
if options.what == "record":
    record(options.url, options.replies, options.out)
else:
    sys.exit(compare(options.base, options.out, options.show))
