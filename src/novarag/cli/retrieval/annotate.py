"""`novarag retrieval annotate`: say what retrieved passages really are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from novarag.cli.console import screen
from novarag.cli.options import EncoderSpec, EntailmentSpec, KeyEnv, Timeout
from novarag.defaults import DESK


def annotate(
    groups: Annotated[
        Path,
        typer.Argument(
            help="Questions with known answers and their passages: JSONL, Parquet or CSV."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for annotated.jsonl, profile.json and the report.")
    ],
    min_confidence: Annotated[
        float,
        typer.Option(min=0, max=1, help="Confidence from which a passage gets a kind."),
    ] = 0.6,
    expect: Annotated[
        Literal["retrieved", "planted"],
        typer.Option(
            help="What to expect: passages a search returned, or passages written for their"
            " question, which often state another answer."
        ),
    ] = "retrieved",
    judge: Annotated[
        list[str] | None,
        typer.Option(help="URL=NAME of a model to ask too; repeat it for replicas."),
    ] = None,
    structured: Annotated[
        bool,
        typer.Option(help="Have the server hold the judge to the form of its reply."),
    ] = True,
    nli: EntailmentSpec = None,
    encoder: EncoderSpec = None,
    key_env: KeyEnv = None,
    timeout: Timeout = DESK.timeout,
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """Say what each passage is, supports / states another answer / related / unrelated, and why."""
    from novarag.flows.annotate import annotate as say

    with screen() as on_event:
        found = say(
            groups, out, min_confidence=min_confidence, expect=expect, judge=judge or None,
            structured=structured, nli=nli, encoder=encoder, key_env=key_env, timeout=timeout,
            replicates=replicates, seed=seed, on_event=on_event,
        )  # fmt: skip
    print(found)
