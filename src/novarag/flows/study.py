"""The human study: a blind rating sheet of what several runs replied, and what the ratings show."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.atomic import whole_folder
from novarag.defaults import MEASURE
from novarag.errors import DataError, UsageError
from novarag.flows.events import FileWritten, silent
from novarag.flows.sources import open_each
from novarag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from novarag.flows.events import EventListener
    from novarag.records import Trial
    from novarag.runs import Run
    from novarag.study import RatingSheet, Rubric, StudyReport

    Asked = dict[int, set[tuple[str, str]]]

QUESTIONS = 20
"""How many questions a sheet has, unless somebody says otherwise."""

REPLICATES = MEASURE.replicates
"""Bootstrap replicates behind each interval of a study, unless somebody says otherwise."""

_SHEET = frozenset({"sheet.html", "key.json"})
_REPORT = frozenset({"study.json", "report.html", "report.md"})


def make_rating_sheet(
    runs: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    question_count: int = QUESTIONS,
    seed: int = 0,
    criteria: str | Path | Rubric | None = None,
    show_answers: bool = False,
    on_event: EventListener = silent,
) -> RatingSheet:
    """Make a blind rating sheet of replies to the same questions: one page that works offline.

    Args:
        runs: Finished runs, one for each system to compare.
        out: Folder for sheet.html and key.json; without it, nothing is written.
        question_count: How many questions to draw.
        seed: Seed of the draw and of the orders.
        criteria: What to rate: a file (.toml or .json), or a `Rubric`; by default the paper's five.
        show_answers: Show raters the accepted answers too.
        on_event: Hears what was written.
    """
    from novarag.report.study import write_sheet
    from novarag.study import make_sheet

    rubric, places = _rubric(criteria), _paths(runs, "runs")
    if len(places) < 2:
        raise UsageError("a study compares systems: give a run for each, two at least")
    systems = read_replies(places, questions=question_count, seed=seed)
    made = make_sheet(
        systems, questions=question_count, seed=seed, rubric=rubric, answers=show_answers
    )
    if out is not None:
        with whole_folder(Path(out), lambda place: _check_sheet(place, made.id)) as draft:
            written = write_sheet(made, draft)
        for path in written:
            on_event(FileWritten(Path(out) / path.name))
    return made


def read_rating_files(
    folder: str | Path,
    ratings: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    replicates: int = REPLICATES,
    seed: int = MEASURE.seed,
    on_event: EventListener = silent,
) -> StudyReport:
    """Read what raters saved, take the blindfold off, and report means, agreement and tests.

    Args:
        folder: The folder that `make_rating_sheet` wrote, with its key.
        ratings: The files that raters saved.
        out: Folder for report.html, report.md and study.json; without it, nothing is written.
        replicates: Bootstrap replicates behind each interval.
        seed: Seed of the bootstrap.
        on_event: Hears what was written.
    """
    from novarag.report.study import write_study
    from novarag.study import analyse, read_key, read_ratings

    folder, files = Path(folder), _paths(ratings, "ratings")
    if not folder.is_dir():
        raise UsageError.saying(
            "{} is not a folder; give the one `make_rating_sheet(...)` wrote", folder
        )
    key = read_key(_read(folder / "key.json"), source=str(folder / "key.json"))
    texts = path_texts(files, "ratings")
    report = analyse(read_ratings(key, texts), replicates=replicates, seed=seed)
    if out is not None:
        with whole_folder(Path(out), lambda place: check_free(place, _REPORT)) as draft:
            today = datetime.now(UTC).date().isoformat()
            written = write_study(report, draft, made=today, version=__version__)
        for path in written:
            on_event(FileWritten(Path(out) / path.name))
    return report


def path_texts(given: object, name: str) -> dict[str, str]:
    """Read the files that raters saved, by their paths."""
    files = _paths(given, name)
    texts = {path: _read(Path(path)) for path in files}
    if len(texts) < len(files):
        raise UsageError(f"a file of {name} is given twice: give each once")
    return texts


def _paths(given: object, name: str) -> list[str]:
    several = [given] if isinstance(given, (str, Path)) else given
    if not isinstance(several, (list, tuple)) or not all(
        isinstance(one, (str, Path)) for one in several
    ):
        raise TypeError(f"{name} must be a list of paths, not {type(given).__name__}")
    return [str(one) for one in several]


def _rubric(criteria: str | Path | Rubric | None) -> Rubric:
    from novarag.study import RUBRIC, Rubric, read_rubric

    if criteria is None:
        return RUBRIC
    if isinstance(criteria, Rubric):
        return criteria
    if isinstance(criteria, (str, Path)):
        return read_rubric(_read(Path(criteria)), source=str(criteria))
    raise TypeError(f"criteria must be a file or a Rubric, not {type(criteria).__name__}")


def _read(path: Path) -> str:
    from novarag.answers.opening.files import existing

    try:
        return existing(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            "the file is not text in UTF-8.",
            hint="give the file as it was saved.",
            source=str(path),
        ) from error


def _check_sheet(out: Path, made: str) -> None:
    """Refuse a place with another sheet in it: ratings of that one need its key."""
    from novarag.study import read_key

    check_free(out, _SHEET)
    key = out / "key.json"
    if key.is_file() and read_key(_read(key), source=str(key)).sheet != made:
        raise UsageError.saying(
            "{} holds another sheet, and ratings of it need its key; give another `out`", out
        )


def check_free(out: Path, ours: frozenset[str]) -> None:
    """Refuse a place that is a file, or a folder with other files than ours in it."""
    if out.exists() and not out.is_dir():
        raise UsageError.saying("{} is a file; `out` takes a folder", out)
    strange = sorted(p.name for p in out.iterdir() if p.name not in ours) if out.is_dir() else []
    if strange:
        raise UsageError.saying(
            "{} has other files in it, such as {!r}; give another `out`", out, strange[0]
        )


def read_replies(places: Sequence[str], *, questions: int, seed: int = 0) -> dict[str, list[Trial]]:
    """Draw questions that all runs have a reply to, and read those; by the name of the run.

    `make_sheet` with the same number and seed takes all of them.
    """
    from novarag.study import draw_places

    runs = open_each(places)
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise UsageError(f"{max(names, key=names.count)} is given twice: give each run once")
    asked = [_asked(run) for run in runs]
    drawn = draw_places([set().union(*found.values()) for found in asked], questions, seed=seed)
    groups = {group for _, group in drawn}
    return {
        run.name: list(_firsts(run, groups, found)) for run, found in zip(runs, asked, strict=True)
    }


def _asked(run: Run) -> Asked:
    """List the questions and groups that each shard has a reply to."""
    columns = ["question", "group"]
    return {s: set(run.table(s, columns).select(columns).iter_rows()) for s in run.finished}


def _firsts(run: Run, wanted: Collection[str], asked: Asked) -> Iterator[Trial]:
    """Yield the first reply to each wanted group, ungraded: raters must not see what is right."""
    for shard, found in asked.items():
        if any(group in wanted for _, group in found):
            first: dict[str | None, Trial] = {}
            for trial in run.trials(shard, groups=wanted, graded=False):
                known = first.setdefault(trial.group.id, trial)
                if trial.sample < known.sample:
                    first[trial.group.id] = trial
            yield from first.values()
