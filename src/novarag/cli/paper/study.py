"""The verbs of the human study: write a blind rating sheet, and read what raters saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import screen
from novarag.flows.study import QUESTIONS, REPLICATES
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.study import StudyReport


def sheet(
    runs: Annotated[
        list[str],
        typer.Argument(help="Finished runs of `novarag ask`, one for each system to compare."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for sheet.html and key.json.")],
    questions: Annotated[int, typer.Option(min=1, help="How many questions to draw.")] = QUESTIONS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw and of the orders.")] = 0,
    criteria: Annotated[
        Path | None,
        typer.Option(help="What to rate, in .toml or .json. Default: the paper's five criteria."),
    ] = None,
    show_answers: Annotated[
        bool, typer.Option("--show-answers", help="Show raters the accepted answers too.")
    ] = False,
) -> None:
    """Write a blind rating sheet of replies to the same questions: one page that works offline."""
    from novarag.flows.study import make_rating_sheet

    make_rating_sheet(
        runs, out, question_count=questions, seed=seed, criteria=criteria, show_answers=show_answers
    )
    page = out / "sheet.html"
    print(f"wrote {page}: {questions} questions, {len(runs)} replies each, in blind order")
    print(f"send {page} to each rater; keep {out / 'key.json'} to yourself")
    print(f"next: novarag paper study read {out} RATINGS.json … --out report")


def read(
    folder: Annotated[
        Path, typer.Argument(help="Folder of `novarag paper study sheet`, with its key.")
    ],
    ratings: Annotated[list[Path], typer.Argument(help="The files that raters saved.")],
    out: Annotated[Path, typer.Option(help="Folder for report.html, report.md and study.json.")],
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = REPLICATES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """Read what raters saved, take the blindfold off, and report means, agreement and tests."""
    from novarag.flows.study import read_rating_files
    from novarag.report.study import study_notes

    with screen() as on_event:
        report = read_rating_files(
            folder, ratings, out, replicates=replicates, seed=seed, on_event=on_event
        )
    _print_report(report)
    for line in study_notes(report):
        print(f"- {plain_text(line, longest=1000)}")


def _print_report(report: StudyReport) -> None:
    from novarag.report.rating_pictures import score_text

    if report.made_up:
        print("SIMULATED: a respondent that is no model wrote replies that were rated\n")
    if report.simulated:
        print("SIMULATED: nobody gave these ratings; they say nothing of any system\n")
    for who in report.raters:
        missing = f", {who.missing:,} missing" if who.missing else ""
        print(f"{plain_text(who.name, longest=40)}: {who.rated:,} ratings{missing}")
    head = ("", *(plain_text(name, longest=30) for name in report.systems))
    rows = [
        (plain_text(c.criterion.title, longest=30), *map(score_text, c.means.values()))
        for c in report.criteria
    ]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    print()
    for row in (head, *rows):
        print("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())
    print()
