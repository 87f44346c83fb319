"""The verb that looks for shortcuts in groups."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from novarag.cli.exit_codes import ExitCode
from novarag.cli.options import Margin
from novarag.noise.group_build import MARGIN


def audit(
    groups: Annotated[
        Path, typer.Argument(help="Groups with labelled passages: JSONL, Parquet or CSV.")
    ],
    margin: Margin = MARGIN,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Try to tell each group from the looks of its passages alone; fail where that succeeds."""
    from novarag.flows.audit import audit_groups
    from novarag.noise.audit import LEVEL

    found = audit_groups(groups, margin=margin, seed=seed)
    if as_json:
        import orjson

        record = {
            "margin": margin, "groups": found.groups, "questions": found.questions,
            "left_out": found.left_out, "comparisons": len(found.compared), "level": LEVEL,
            "findings": found.findings,
            "shortcuts": sorted({f.cue for f in found.shortcuts}),
        }  # fmt: skip
        print(orjson.dumps(record).decode())
    else:
        print(found)
    sys.exit(ExitCode.INCOMPLETE if found.shortcuts else ExitCode.DONE)
