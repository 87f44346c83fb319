"""Which columns of a user's table mean what, and what their values mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.answers.cells.confidences import ConfidenceSettings
from novarag.answers.cells.grades import GradeSettings
from novarag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.answers.cells.score_names import ScoreColumn
    from novarag.records import NumberScale


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns of a user's table mean what.

    Values are read as they stand where they can mean one thing only. Where they do not: `percent`
    says that bare confidences are 0-100, `out_of` what else they are parts of, `mixed` that 0.85
    and 85 both mean 85 %; `values` says what single ones mean, such as `{"high": 0.9}`; `unread`
    lists marks of a reply nobody could read ("*": whatever is no share). `right`, `wrong` and
    `ungraded` list grades, or bounds such as ">=4"; with `right` alone all others are wrong.
    `decimal_comma` mends rows of a comma file in which `0,85` stands without quotes.

    With `reply` raw replies are read instead of taking a confidence column; `scale` says whether
    bare confidences in them are percents or shares ("percent": 0%-100%, "hundred": 0-100, "unit":
    0-1; None takes what their prompt asks for). With `gold` answers are graded instead of taking a
    correctness column. For calibrations and gates, `state` is the column
    with the evidence state (`evidence` where there is one), `signal` one with a further number,
    `weight` one that says how many answers a row stands for (`weight` where there is one).

    `scores` names other numbers that may tell right from wrong, each a column or a path into JSON
    inside cells (`metadata.score`), with `:lower` or `:higher` behind it where it is known which is
    better. They need no unit, and with them a table needs no stated confidence.
    """

    confidence: str = "confidence"
    correct: str = "correct"
    question: str | None = None
    percent: bool = False
    out_of: float | None = None
    mixed: bool = False
    values: Mapping[str, float] = field(default_factory=dict)
    unread: tuple[float | str, ...] = ()
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    ungraded: tuple[str, ...] = ()
    decimal_comma: bool = False
    reply: str | None = None
    scale: NumberScale | str | None = None
    gold: str | None = None
    answer: str = "answer"
    state: str | None = None
    signal: str | None = None
    weight: str | None = None
    scores: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if sum((self.percent, self.mixed, self.out_of is not None)) > 1:
            raise UsageError.saying(
                "`percent`, `out_of` and `mixed` say different things; give one"
            )
        if self.out_of is not None and not self.out_of > 0:
            raise UsageError.saying("`out_of` must be over 0")
        _ = self.score_columns  # which refuses what is none
        if self.scores and self.signal is not None:
            raise UsageError.saying("name the `signal` among the `scores`")
        if any(not 0 <= share <= 1 for share in self.values.values()):
            raise UsageError.saying("`values` must be shares from 0 to 1")

    @property
    def confidence_settings(self) -> ConfidenceSettings:
        """What is said of the values of the confidence column."""
        return ConfidenceSettings(
            percent=self.percent, out_of=self.out_of, mixed=self.mixed, values=self.values,
            unread=self.unread,
        )  # fmt: skip

    @property
    def grade_settings(self) -> GradeSettings:
        """What is said of the values of the grade column."""
        return GradeSettings(right=self.right, wrong=self.wrong, ungraded=self.ungraded)

    @property
    def score_columns(self) -> tuple[ScoreColumn, ...]:
        """The scores by name, with what is said of their directions."""
        if not self.scores:
            return ()
        from novarag.answers.cells.score_names import parse_scores

        return parse_scores(self.scores)

    def wanted(self, *, graded: bool) -> tuple[str, ...]:
        """Name the columns that a table must have, by which its shape can be known."""
        scored = self.score_columns[0].name.partition(".")[0] if self.scores else self.confidence
        said = self.reply or scored
        return (said, self.gold or self.correct) if graded else (said,)
