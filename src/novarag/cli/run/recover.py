"""`novarag run recover`: check every file of a run and mend what can be mended."""

from __future__ import annotations

from novarag.cli.options import ForeignStrategy, RunArgument
from novarag.cli.translate import said


def recover(run: RunArgument, strategy: ForeignStrategy = None) -> None:
    """Check every file of a run, mend what its journals can mend, and say what is left to ask."""
    from novarag.flows.runs import recover as flow

    found = flow(run, strategy=strategy)
    for line in found.damage:
        print(f"found: {said(line)}")
    damages = len(found.damage)
    print(f"{found.finished:,} of {found.shards:,} shards are finished; damages found: {damages}")
    if found.pending:
        print(f"{found.pending:,} requests are left: run the same `novarag ask` to go on")
