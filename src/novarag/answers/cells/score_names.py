"""Names of scores as a person gives them, with the direction in which they are better."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from novarag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SCORES = 20
"""Scores that one calibration may take."""

_WAYS = {"lower": True, "higher": False}


class ScoreColumn(NamedTuple):
    """A score by its name, and whether lower is better; None leaves that to the graded rows."""

    name: str
    lower: bool | None


def parse_score(text: str) -> ScoreColumn:
    """Read `NAME`, `NAME:lower` or `NAME:higher`.

    >>> parse_score("similarity:lower"), parse_score("ragas:faithfulness")
    (ScoreColumn(name='similarity', lower=True), ScoreColumn(name='ragas:faithfulness', lower=None))
    """
    name, colon, way = text.rpartition(":")
    if colon and way in _WAYS:
        return ScoreColumn(name, _WAYS[way])
    return ScoreColumn(text, None)


def parse_scores(texts: Sequence[str]) -> tuple[ScoreColumn, ...]:
    """Read the scores of a table; `UsageError` where one is named twice, or there are too many."""
    scores = tuple(parse_score(text) for text in texts)
    names = [score.name for score in scores]
    if any(not name for name in names):
        raise UsageError.saying("`scores` must be names of columns")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError.saying("`scores` names {!r} twice", twice)
    if len(scores) > MOST_SCORES:
        raise UsageError.saying("`scores` may be {} at most, not {}", MOST_SCORES, len(scores))
    return scores
