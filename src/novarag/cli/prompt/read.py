"""The verb that reads a reply."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.options import ReaderName, ScaleName

if TYPE_CHECKING:
    from novarag.records import Reading


def read(
    reader: ReaderName = "nova",
    k: Annotated[
        int | None, typer.Option("--k", min=0, help="How many passages the prompt showed.")
    ] = None,
    scale: ScaleName = None,
) -> None:
    """Read a reply on standard input and print what was read as one JSON object."""
    from novarag.flows.read import read_reply

    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    reading = read_reply(text, reader, k=k, scale=scale)
    print(json.dumps(_as_json(reading), ensure_ascii=False))


def _as_json(reading: Reading) -> dict[str, object]:
    judgment = reading.judgment
    return {
        "answer": reading.answer,
        "confidence": reading.confidence,
        "judgment": judgment and {"passages": judgment.passages, "group": judgment.group},
        "flaw": reading.flaw,
        "remarks": reading.remarks,
        "spans": reading.spans,
    }
