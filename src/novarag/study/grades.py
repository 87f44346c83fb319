"""Grades that people give to single answers: right, wrong, or cannot tell.

They are asked for and saved as ratings are: one criterion with three points.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from novarag.study.ratings import StudyRatings, ratings_text
from novarag.study.rubric import Criterion, Rubric
from novarag.study.sheet import KeyEntry, SheetKey

if TYPE_CHECKING:
    from collections.abc import Sequence

RIGHT, WRONG, CANNOT_TELL = "right", "wrong", "cannot tell"
DISPUTED, MISSING = "disputed", "not graded"
GRADES = (RIGHT, WRONG, CANNOT_TELL)
"""What may be said of an answer, in the order of the keys 1, 2 and 3."""

RUBRIC = Rubric(
    criteria=(
        Criterion(
            name="grade",
            title="Is the answer right?",
            asks="Grade what the answer says, not how it says it.",
        ),
    ),
    points=len(GRADES),
    low=RIGHT,
    high=CANNOT_TELL,
)
"""One question, three points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeEntry:
    """What graders see of one answer: the question, texts under headings, and the answer.

    How sure the model was is not shown: it would sway them.
    """

    question: str
    answer: str
    texts: tuple[tuple[str, str], ...] = ()
    accepted: tuple[str, ...] = ()


def sheet_id(entries: Sequence[GradeEntry]) -> str:
    """Return what grades name their sheet by."""
    shown = json.dumps([asdict(entry) for entry in entries])
    return blake2b(shown.encode(), digest_size=6).hexdigest()


def grade_key(sheet: str, questions: Sequence[str]) -> SheetKey:
    """Return the key that grades are read with; there is one system, and nothing to hide."""
    entries = tuple(KeyEntry(question=name, group="", order=(0,)) for name in questions)
    return SheetKey(sheet=sheet, systems=("answer",), rubric=RUBRIC, entries=entries)


def grades_text(sheet: str, grades: Sequence[str | None], *, rater: str) -> str:
    """Write one grader's grades, in the sheet's order, as its Save button does."""
    key = grade_key(sheet, [""] * len(grades))
    scores = [np.nan if grade is None else GRADES.index(grade) + 1.0 for grade in grades]
    table = np.array(scores).reshape(1, -1, 1, 1)
    return ratings_text(StudyRatings(key=key, raters=(rater,), scores=table), 0)


def settle(ratings: StudyRatings) -> list[str]:
    """Return the grade of each answer; where graders differ on right or wrong, it is disputed.

    Who cannot tell leaves it to the others.
    """
    return [_settled(column) for column in ratings.scores[:, :, 0, 0].T]


def _settled(scores: Sequence[float]) -> str:
    given = {GRADES[int(score) - 1] for score in scores if not np.isnan(score)}
    decided = given - {CANNOT_TELL}
    if len(decided) > 1:
        return DISPUTED
    return next(iter(decided or given), MISSING)
