"""The verbs of the human study: write a blind rating sheet, and read what raters saved."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag import __version__
from novarag.atomic import whole_folder
from novarag.errors import DataError, UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.study import Rubric, StudyReport

study = typer.Typer(
    help="Let people rate replies blindly, and say what their ratings show.",
    no_args_is_help=True,
)

_SHEET = frozenset({"sheet.html", "key.json"})
_REPORT = frozenset({"study.json", "report.html", "report.md"})


@study.command()
def sheet(
    runs: Annotated[
        list[str],
        typer.Argument(help="Finished runs of `novarag ask`, one for each system to compare."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for sheet.html and key.json.")],
    questions: Annotated[int, typer.Option(min=1, help="How many questions to draw.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw and of the orders.")] = 0,
    criteria: Annotated[
        Path | None,
        typer.Option(help="What to rate, in .toml or .json. Default: the paper's five criteria."),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="Show raters the accepted answers too.")
    ] = False,
) -> None:
    """Write a blind rating sheet of replies to the same questions: one page that works offline."""
    from novarag.report.sheet import write_sheet
    from novarag.runs.replies import read_replies
    from novarag.study import RUBRIC, make_sheet

    rubric = RUBRIC if criteria is None else _rubric(criteria)
    if len(runs) < 2:
        raise UsageError("a study compares systems: give a run for each, two at least")
    systems = read_replies(runs, questions=questions, seed=seed)
    made = make_sheet(systems, questions=questions, seed=seed, rubric=rubric, answers=answers)
    with whole_folder(out, lambda place: _check_sheet(place, made.id)) as draft:
        write_sheet(made, draft)
    page = out / "sheet.html"
    print(f"wrote {page}: {questions} questions, {len(runs)} replies each, in blind order")
    print(f"send {page} to each rater; keep {out / 'key.json'} to yourself")
    print(f"next: novarag study read {out} RATINGS.json … --out report")


def _rubric(path: Path) -> Rubric:
    from novarag.study import read_rubric

    return read_rubric(_read(path), source=str(path))


def _read(path: Path) -> str:
    from novarag.datasets.files import existing

    try:
        return existing(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            "the file is not text in UTF-8.",
            mend="give the file as it was saved.",
            source=str(path),
        ) from error


def _check_sheet(out: Path, made: str) -> None:
    """Refuse a place with another sheet in it: ratings of that one need its key."""
    from novarag.study import read_key

    _check_free(out, _SHEET)
    key = out / "key.json"
    if key.is_file() and read_key(_read(key), source=str(key)).sheet != made:
        raise UsageError(
            f"{out} holds another sheet, and ratings of it need its key; give another --out"
        )


def _check_free(out: Path, ours: frozenset[str]) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out takes a folder")
    strange = sorted(p.name for p in out.iterdir() if p.name not in ours) if out.is_dir() else []
    if strange:
        raise UsageError(f"{out} has other files in it, such as {strange[0]!r}; give another --out")


@study.command()
def read(
    folder: Annotated[Path, typer.Argument(help="Folder of `novarag study sheet`, with its key.")],
    ratings: Annotated[list[Path], typer.Argument(help="The files that raters saved.")],
    out: Annotated[Path, typer.Option(help="Folder for report.html, report.md and study.json.")],
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """Read what raters saved, take the blindfold off, and report means, agreement and tests."""
    from novarag.report.study import study_notes, write_study
    from novarag.study import analyse, read_key, read_ratings

    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; give the one `novarag study sheet` wrote")
    key = read_key(_read(folder / "key.json"), source=str(folder / "key.json"))
    texts = {str(path): _read(path) for path in ratings}
    if len(texts) < len(ratings):
        raise UsageError("a file of ratings is given twice: give each once")
    report = analyse(read_ratings(key, texts), replicates=replicates, seed=seed)
    with whole_folder(out, lambda place: _check_free(place, _REPORT)) as draft:
        today = datetime.now(UTC).date().isoformat()
        written = write_study(report, draft, made=today, version=__version__)
    _tell(report)
    for line in study_notes(report):
        print(f"- {plain_text(line, longest=1000)}")
    for path in written:
        print(f"wrote {out / path.name}", file=sys.stderr)


def _tell(report: StudyReport) -> None:
    from novarag.report.rated import score_text

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
