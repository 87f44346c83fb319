"""The verb that measures."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag import __version__
from novarag.atomic import write_whole
from novarag.cli.common import ReaderName, ScaleName  # noqa: TC001 - typer looks at them
from novarag.cli.models import simulated_note
from novarag.errors import UsageError
from novarag.strategies import find_labels
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars import DataFrame


def measure(
    files: Annotated[
        list[Path],
        typer.Argument(help="Tables of answers: JSONL, Parquet or CSV; or folders of runs."),
    ],
    confidence: Annotated[
        str, typer.Option(help="Column with the confidence, 0 to 1; empty where unread.")
    ] = "confidence",
    correct: Annotated[
        str, typer.Option(help="Column that says whether the answer is right: true/false or 1/0.")
    ] = "correct",
    question: Annotated[
        str | None,
        typer.Option(
            help="Column that names the question; default 'question', else each row is its own."
        ),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Column to group by; may be given more than once.")
    ] = None,
    percent: Annotated[
        bool, typer.Option("--percent", help="The confidence column holds 0 to 100.")
    ] = False,
    unread: Annotated[
        list[float] | None,
        typer.Option(help="Value that marks an unread reply, such as -1; may be repeated."),
    ] = None,
    reply: Annotated[
        str | None,
        typer.Option(help="Column with raw replies, read with --strategy instead of --confidence."),
    ] = None,
    strategy: ReaderName = "nova",
    scale: ScaleName = None,
    gold: Annotated[
        str | None,
        typer.Option(help="Column with accepted answers, graded instead of --correct."),
    ] = None,
    answer: Annotated[
        str, typer.Option(help="Column with the answer, for --gold without --reply.")
    ] = "answer",
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html, report.md and report.json.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON on standard output.")
    ] = False,
    title: Annotated[
        str, typer.Option(help="Title of the report.")
    ] = "How honest is the confidence?",
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    mix: Annotated[
        Path | None,
        typer.Option(
            help="profile.json of `novarag annotate`: weigh the answers to that mix of groups too."
        ),
    ] = None,
) -> None:
    """Measure how honest stated confidences are, and write a report."""
    from novarag.datasets import Columns, load_answers, rows_stand_alone
    from novarag.datasets.mix import read_mix
    from novarag.metrics import measure as measured
    from novarag.report import Heading, summary, to_json, write_report

    columns = Columns(
        confidence=confidence, correct=correct, question=question, percent=percent,
        unread=tuple(unread or ()), reply=reply, answer=answer, gold=gold,
    )  # fmt: skip
    wanted = read_mix(mix) if mix is not None else None
    notes: list[str] = []
    tables = [table for file in files for table in _tables(file, notes)]
    table = load_answers(tables, columns, labels=find_labels(strategy, scale) if reply else None)
    if wanted is not None:  # first, as it may be refused
        notes += _mixed(table, wanted, out, by=by or (), resampling=(replicates, seed))
    bar = typer.progressbar(
        length=replicates, label="resampling", file=sys.stderr, hidden=not sys.stderr.isatty()
    )
    with bar:
        found = measured(table, by=by or (), replicates=replicates, seed=seed, progress=bar.update)
    if rows_stand_alone(table):
        notes.append("Every row counts as its own question.")
    heading = Heading(
        title=title,
        sources=[f.name for f in files],
        made=datetime.now(UTC).strftime("%Y-%m-%d"),
        version=__version__,
        notes=notes,
    )
    if out is not None:
        for path in write_report(found, heading, out):
            print(f"wrote {path}", file=sys.stderr)
    if as_json:
        print(to_json(found, heading))
    else:
        for line in [*summary(found), *notes]:
            print(f"- {plain_text(line, longest=1000)}")


def _mixed(
    table: DataFrame,
    wanted: dict[str, float],
    out: Path | None,
    *,
    by: Sequence[str],
    resampling: tuple[int, int],
) -> list[str]:
    """Weigh the answers to a mix, and say what comes of it; `resampling` is replicates and seed."""
    from novarag.metrics import reweigh
    from novarag.report.mixed import mixed_json, mixed_notes

    replicates, seed = resampling
    found = reweigh(table, wanted, replicates=replicates, seed=seed)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_whole(out / "mixed.json", mixed_json(found).encode("utf-8"))
        print(f"wrote {out / 'mixed.json'}", file=sys.stderr)
    pooled = bool(by) and table.select(by).n_unique() > 1
    return mixed_notes(found, pooled=by if pooled else ())


def _tables(file: Path, notes: list[str]) -> list[Path | tuple[str, DataFrame]]:
    """Read the finished tables of trials of a run, or name the file; note what is missing."""
    if not (file / "manifest.json").is_file():
        return [file]
    from novarag.runs import open_run, table_name

    run = open_run(file)
    notes += [n for n in simulated_note([run.settings.model]) if n not in notes]
    if not run.finished:
        raise UsageError(
            f"{file} has no finished shard yet: finish it with the same `novarag ask`, or measure"
            f" what there is with `novarag show {file} --jsonl > part.jsonl`"
        )
    if run.missing:
        notes.append(f"{file.name}: {run.missing:,} shards are not finished and not counted.")
    if run.dead:
        notes.append(f"{file.name}: {run.dead:,} requests failed and are not among these answers.")
    return [(str(file / table_name("trials", shard)), run.table(shard)) for shard in run.finished]


def measure_runs(
    runs: Sequence[Path],
    out: Path,
    *,
    by: Sequence[str],
    title: str,
    notes: Sequence[str],
    resampling: tuple[int, int],
) -> None:
    """Measure runs as one table and write a report; `resampling` is replicates and seed."""
    from novarag.datasets import Columns, load_answers
    from novarag.metrics import measure as measured
    from novarag.report import Heading, summary, write_report

    told = list(notes)
    tables = [table for run in runs for table in _tables(run, told)]
    replicates, seed = resampling
    found = measured(load_answers(tables, Columns()), by=by, replicates=replicates, seed=seed)
    heading = Heading(
        title=title,
        sources=[run.name for run in runs],
        made=datetime.now(UTC).strftime("%Y-%m-%d"),
        version=__version__,
        notes=told,
    )
    for path in write_report(found, heading, out):
        print(f"wrote {path}", file=sys.stderr)
    for line in [*summary(found), *told]:
        print(f"- {plain_text(line, longest=1000)}")
