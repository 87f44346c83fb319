"""The verb that draws passages into groups."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from novarag.cli.exit_codes import ExitCode
from novarag.cli.options import Margin
from novarag.config.pipeline import GroupSettings

_DEFAULT = GroupSettings()


def group(
    pool: Annotated[
        Path,
        typer.Argument(
            help="Questions with labelled passages (JSONL, Parquet, CSV), or a run of noise."
        ),
    ],
    out: Annotated[Path, typer.Option(help="File for the groups: .jsonl.")],
    mix: Annotated[
        str,
        typer.Option(
            help="training (the three groups of each question), one-gold (the same three with"
            " one gold passage, as the paper has them), gold-only, gold+counterfactual,"
            " gold+relevant, gold+irrelevant, counterfactual-only, relevant-only or"
            " irrelevant-only."
        ),
    ] = _DEFAULT.mix,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Passages in a group.")] = _DEFAULT.k,
    gold_at: Annotated[
        int | None, typer.Option(min=1, help="Place of the gold passage; default: shuffled.")
    ] = None,
    one_each: Annotated[
        bool,
        typer.Option("--one-each", help="Of the training groups, one for each question, in turn."),
    ] = _DEFAULT.one_each,
    seed: Annotated[int, typer.Option(min=0, help="Seed of draws and shuffles.")] = 0,
    audited: Annotated[
        bool, typer.Option("--audit/--no-audit", help="Look for shortcuts in training groups.")
    ] = _DEFAULT.audit,
    margin: Margin = _DEFAULT.margin,
) -> None:
    """Draw passages into groups, shuffled, and fail if a group can be told by its looks."""
    from novarag.flows.group import group_passages

    found = group_passages(
        pool, out, mix=mix, k=k, gold_at=gold_at, one_each=one_each, seed=seed, audit=audited,
        margin=margin,
    )  # fmt: skip
    print(found)
    if found.has_shortcut:
        print(
            f"wrote {out}, but a model trained on it could learn the shortcut: use more questions"
        )
        print("or other passages, or raise --margin if you accept it")
        sys.exit(ExitCode.INCOMPLETE)
    print(f"wrote {out}; next: novarag ask {out} --model URL=NAME --samples 16 --out run")
