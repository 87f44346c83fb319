"""Run one proof of a gateway, or all: `python -m validation.gateway NAME [--size short]`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from validation.gateway.sizes import PROOFS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *PROOFS], default=[])
    parser.add_argument("--size", choices=["full", "short"], default="full")
    args = parser.parse_args()
    holds = []
    for name in args.names or PROOFS:
        proof, short = PROOFS[name]
        with tempfile.TemporaryDirectory(prefix="novarag-") as place:
            holds.append(asyncio.run(proof(Path(place), **(short if args.size == "short" else {}))))
    return 0 if all(holds) else 1


if __name__ == "__main__":
    raise SystemExit(main())
