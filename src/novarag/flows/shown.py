"""What graders see of an answer: its question, its passages, what would be right, and itself."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from novarag.answers.opening.files import need_column
from novarag.study.grades import GradeEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars import DataFrame

    from novarag.answers.opening.answers import Answers
    from novarag.records import PassageGroup

    ShownGroups = dict[tuple[str, str], PassageGroup]

_PASSAGES = "passages"
_LOG = "the log"


def shown_entries(log: Answers, rows: DataFrame, show: Sequence[str] | None) -> list[GradeEntry]:
    """Lay out rows for graders; those of a run with the text of the question and the passages."""
    answer = "answer" if log.columns.reply else log.columns.answer
    need_column(rows, answer, parameter="answer", source=_LOG)
    wanted = _wanted(rows, show)
    groups = _groups(log, rows)
    return [_entry(row, answer, wanted, groups) for row in rows.iter_rows(named=True)]


def _wanted(rows: DataFrame, show: Sequence[str] | None) -> list[str]:
    if show is None:
        return [_PASSAGES] if _PASSAGES in rows.columns else []
    names = [show] if isinstance(show, str) else list(show)
    for name in names:
        if name not in rows.columns:
            need_column(rows, name, parameter="show", source=_LOG)
    return names


def _entry(
    row: dict[str, Any], answer: str, wanted: Sequence[str], groups: ShownGroups
) -> GradeEntry:
    texts = [part for name in wanted for part in _parts(name, row[name])]
    said = "" if row[answer] is None else str(row[answer])
    group = groups.get((str(row["question"]), str(row.get("group"))))
    if group is None:
        return GradeEntry(question=str(row["question"]), answer=said, texts=tuple(texts))
    own = [(f"Passage {i}", passage.text) for i, passage in enumerate(group.passages, 1)]
    return GradeEntry(
        question=group.question.text,
        answer=said,
        texts=(*own, *texts),
        accepted=group.question.answers,
    )


def _parts(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield a cell as texts under headings: a list has one for each of its parts."""
    parts = value if isinstance(value, list) else [value]
    for number, part in enumerate(parts, 1):
        text = part.get("text") if isinstance(part, dict) and "text" in part else part
        if text is not None:
            yield (name if len(parts) == 1 else f"{name} {number}", str(text))


def _groups(log: Answers, rows: DataFrame) -> ShownGroups:
    """Find the groups of rows that come from runs or trials, by question and name."""
    if "group" not in rows.columns:
        return {}
    wanted = set(rows.select("question", "group").iter_rows())
    return {place: group for place, group in _named(log) if place in wanted}


def _named(log: Answers) -> Iterator[tuple[tuple[str, str], PassageGroup]]:
    groups = [trial.group for trial in log.trials]
    runs = dict.fromkeys(run for run, _ in log.parts if run is not None)
    for group in chain(groups, *(run.groups() for run in runs)):
        yield (group.question.id, group.id or ""), group
