"""The verbs that go over the trials of runs: filter them, and read them again."""

from __future__ import annotations

import os
import sys
from functools import partial as partial_of
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from novarag import __version__
from novarag.cli.looking import Foreign, Run, strategy_of
from novarag.errors import UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from typing import Any

    from novarag.filters import Options

_REASONS = 3  # of each stage, on the screen; the report has all


def filter_trials(
    runs: Annotated[list[str], typer.Argument(help="Folders of runs, one for each model.")],
    out: Annotated[Path, typer.Option(help="Folder for what is kept, dropped and counted.")],
    rules: Annotated[
        Literal["stated", "keyword"],
        typer.Option(help="Rules: by what was read, or by the paper's key words."),
    ] = "stated",
    alignment: Annotated[
        Literal["brier", "soft"],
        typer.Option(help="Target: right or wrong, or the share of samples that are right."),
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
    partial: Annotated[
        bool, typer.Option("--partial", help="Take runs that are not finished, as far as they go.")
    ] = False,
) -> None:
    """Filter trials down to a training set, and count what is dropped and why."""
    from novarag.filters import Options

    shared = len(runs) > 1 if common is None else common
    options = Options(
        rules=rules, alignment=alignment, balance=balance, seed=seed,
        common=len(runs) if shared else 1,
    )  # fmt: skip
    if not run_filter(runs, out, options, partial=partial):
        sys.exit(1)
    print(f"next: look at {out / 'report.html'}, then novarag export {out} --out export")


def run_filter(runs: list[str], out: Path, options: Options, *, partial: bool = False) -> int:
    """Filter runs into a folder, and print the tally; return how many trials are kept."""
    from novarag.report.funnel import write_funnel_report
    from novarag.runs.filtering import filter_runs
    from novarag.runs.sources import open_sources

    sources = open_sources(runs, partial=partial)
    bar = typer.progressbar(
        length=2 * sum(len(source.finished) for source in sources),
        label="filtering", file=sys.stderr, hidden=not sys.stderr.isatty(),
    )  # fmt: skip
    with bar:
        found = filter_runs(
            sources, out, options, tell=bar.update,
            finish=partial_of(write_funnel_report, version=__version__),
        )  # fmt: skip
    _print_tally(found.told)
    sys.stdout.flush()
    print(f"\nwrote {found.trials:,} trials of {found.groups:,} groups to {out}", file=sys.stderr)
    if not found.trials:
        print("nothing is kept: the tally says at which stage and why", file=sys.stderr)
    return found.trials


def _print_tally(told: dict[str, Any]) -> None:
    from novarag.filters import Tally
    from novarag.report.funnel import funnel_notes, stage_rows
    from novarag.report.retention import CITES

    tally = Tally.of(told)
    for model in tally.models:
        head = ("after", "kept", "of all", *tally.kinds, "paper, of all")
        rows = [
            (r["stage"], f"{r['kept']:,}", r["share"], *(f"{k:,}" for k in r["kinds"]), r["paper"])
            for r in stage_rows(told, model)
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
    for line in funnel_notes(told):
        print(f"- {plain_text(line, longest=1000)}")


def reread(
    run: Run,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes at work. Default: one for each core.")
    ] = None,
    strategy: Foreign = None,
) -> None:
    """Read and grade every stored reply again, after the reader has changed. Nothing is asked."""
    from novarag.runs import open_run
    from novarag.runs.rereading import reread as read_again

    opened = open_run(run)
    found = strategy_of(opened.manifest, strategy)
    if opened.settings.noise is not None:
        raise UsageError(f"{run} is a run of noise: the same `novarag noise` reads it again")
    bar = typer.progressbar(
        length=len(opened.finished),
        label="reading again", file=sys.stderr, hidden=not sys.stderr.isatty(),
    )  # fmt: skip
    with bar:
        total = read_again(opened, found, workers=workers or os.cpu_count() or 1, tell=bar.update)
    for line in total.mended:
        print(f"found: {line}")
    print(f"{total.trials:,} trials were read again, {total.changed:,} of them changed")
    for name, count in total.columns.most_common():
        print(f"  {name:<16} {count:,}")
    if missing := opened.missing:
        print(f"{missing:,} shards are not finished; they are read as they are when they go on")
