"""`novarag train filter`: trials down to a training set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from novarag.cli.console import screen
from novarag.cli.exit_codes import ExitCode
from novarag.defaults import FILTER
from novarag.texts import plain_text

if TYPE_CHECKING:
    from typing import Any

    from novarag.flows.filter import FilterResult

_REASONS = 3  # of each stage, on the screen; the report has all


def filter_trials(
    runs: Annotated[list[str], typer.Argument(help="Folders of runs, one for each model.")],
    out: Annotated[Path, typer.Option(help="Folder for what is kept, dropped and counted.")],
    rules: Annotated[
        Literal["stated", "keyword"],
        typer.Option(help="Rules: by what was read, or by the paper's key words."),
    ] = "stated",
    alignment: Annotated[
        Literal["brier", "soft", "share", "teacher"],
        typer.Option(
            help="Target: right or wrong, or the share of samples that are right; `share` and"
            " `teacher` write theirs into the reply."
        ),
    ] = "brier",
    common: Annotated[
        bool | None,
        typer.Option(help="Keep groups kept for every model. Default: with several runs."),
    ] = None,
    balance: Annotated[
        Literal["uniform", "downsample-consistent", "none"],
        typer.Option(help="How the kinds of groups are balanced."),
    ] = "uniform",
    seed: Annotated[int, typer.Option(min=0, help="Seed of ties and draws.")] = 0,
    unfiltered: Annotated[
        bool,
        typer.Option(
            "--unfiltered", help="Keep every reply that was read and graded, right and wrong."
        ),
    ] = False,
    unjudged: Annotated[
        bool,
        typer.Option(
            "--unjudged", help="Leave out judgments and rules, for replies that judge no passage."
        ),
    ] = False,
    tolerate_mismatch: Annotated[
        bool,
        typer.Option(
            "--tolerate-mismatch",
            help="Forgive one passage called relevant where it is irrelevant, or the other way"
            " round; the authors' released filter does.",
        ),
    ] = False,
    drop_longest: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="Drop this share of each group's replies, the longest first (0.05 in the authors'"
            " released filter, as --enable-drop).",
        ),
    ] = FILTER.drop_longest,
    partial: Annotated[
        bool, typer.Option("--partial", help="Take runs that are not finished, as far as they go.")
    ] = False,
) -> None:
    """Filter trials down to a training set, and count what is dropped and why."""
    from novarag.flows.filter import filter_trials as flow

    with screen() as on_event:
        found = flow(
            runs, out, rules=rules, alignment=alignment, common=common, balance=balance, seed=seed,
            unfiltered=unfiltered, unjudged=unjudged, tolerate_mismatch=tolerate_mismatch,
            drop_longest=drop_longest, partial_runs=partial, on_event=on_event,
        )  # fmt: skip
    print_filtered(found)
    if not found.trials:
        sys.exit(ExitCode.INCOMPLETE)
    print(f"next: look at {out / 'report.html'}, then novarag train export {out} --out export")


def print_filtered(found: FilterResult) -> None:
    """Print the tally, and where what was kept is."""
    _print_tally(found.tally)
    sys.stdout.flush()
    kept = f"{found.trials:,} trials of {found.groups:,} groups"
    print(f"\nwrote {kept} to {found.place}", file=sys.stderr)
    if not found.trials:
        print("nothing is kept: the tally says at which stage and why", file=sys.stderr)


def _print_tally(facts: dict[str, Any]) -> None:
    from novarag.filters import FilterTally
    from novarag.report.funnel import CITES, funnel_notes, stage_rows

    tally = FilterTally.of(facts)
    for model in tally.models:
        head = ("after", "kept", "of all", *tally.kinds, "paper, of all")
        rows = [
            (r["stage"], f"{r['kept']:,}", r["share"], *(f"{k:,}" for k in r["kinds"]), r["paper"])
            for r in stage_rows(facts, model)
        ]
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        print(f"\n{plain_text(model)}")
        for row in (head, *rows):
            cells = [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
            print("  ".join(cells))
        for stage in tally.stages:
            for reason, count in tally.reasons(stage, model=model)[:_REASONS]:
                print(f"  {stage}: {count:,} {plain_text(reason)}")
    print(f"\nThe paper's shares are for display beside ours, never a target ({CITES}).")
    for line in funnel_notes(facts):
        print(f"- {plain_text(line, longest=1000)}")
