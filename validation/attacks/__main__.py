"""Run one proof about attacks, or all that need no server.

Usage: python -m validation.attacks [NAME ...] [--size short] [--url URL=NAME]
"""

from __future__ import annotations

import argparse

from validation.attacks.coverage import coverage
from validation.attacks.gateway import through_gateway
from validation.attacks.rates import rates
from validation.attacks.reading import reading
from validation.attacks.screening import screening
from validation.attacks.served import served

PROOFS = {
    "rates": (rates, {"questions": 6, "chances": (0.3,)}),
    "coverage": (coverage, {"draws": 100}),
    "reading": (reading, {"attacks": 1000}),
    "screen": (screening, {"passages": 500}),
    "gateway": (through_gateway, {"questions": 2}),
}
"""Each proof, and what it takes when it is short; `served` wants a model's server."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *PROOFS, "served"], default=[])
    parser.add_argument("--size", choices=["full", "short"], default="full")
    parser.add_argument("--url", default="http://127.0.0.1:8411=base")
    args = parser.parse_args()
    holds = []
    for name in args.names or PROOFS:
        if name == "served":
            short = {"questions": 4} if args.size == "short" else {}
            holds.append(served(args.url, **short))
            continue
        proof, less = PROOFS[name]
        holds.append(proof(**(less if args.size == "short" else {})))
    return 0 if all(holds) else 1


if __name__ == "__main__":
    raise SystemExit(main())
