"""Hold `novarag.probes` against respondents of known truth, and print figures with intervals.

`validity`: honest respondents on the edge of every relation, `tuned`, and matching errors put in;
`risk` is its last part, a risk of matching that is estimated from graded answers.
`power`: how many questions show that a rule is broken, or replies hijacked. `proved`: how much of
the true over-confidence is proved, simulated and on real replies (needs the benchmark data). Exits
with 1 where a stated bound is not kept. Usage: python -m validation.probes NAME [--size short]
"""

import argparse
import sys
import time

from validation.probes import power, proved, validity

PARTS = {
    "validity": validity.main, "risk": validity.risk, "power": power.main, "proved": proved.main,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=PARTS)
    parser.add_argument("--size", choices=("full", "short"), default="full")
    args = parser.parse_args()
    began = time.monotonic()
    fine = PARTS[args.name](short=args.size == "short")
    print(f"{'kept' if fine else 'NOT KEPT'}, {time.monotonic() - began:.0f} s")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
