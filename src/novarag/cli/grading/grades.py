"""`novarag grading grades`: a graded table from what people said of picked answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from novarag.cli.console import screen


def grades(
    folder: Annotated[Path, typer.Argument(help="Folder of `novarag grading pick`.")],
    grades: Annotated[list[Path], typer.Argument(help="The files that graders saved.")],
    out: Annotated[
        Path, typer.Option(help="File for the graded table (.csv, .parquet or .jsonl).")
    ],
) -> None:
    """Read what graders saved, and write the graded table for `calibrate` and `gate`."""
    from novarag.flows.pick import read_grades

    with screen() as on_event:
        found = read_grades(folder, grades, out, on_event=on_event)
    for said, count in sorted(found.counts.items()):
        print(f"{count:,} {said}")
    print(f"next: novarag calibrate {out} --out calibration.json")
