"""What can be chosen of the funnel; the defaults are ours, the paper's choices are options."""

from __future__ import annotations

from dataclasses import dataclass

from novarag.defaults import FILTER
from novarag.errors import UnknownNameError, UsageError
from novarag.prose import say

RULES = ("stated", "keyword")
ALIGNMENTS = ("brier", "soft", "share", "teacher")
WRITTEN = ("share", "teacher")
"""Alignments whose target is written into the kept reply, in place of what it stated."""
BALANCES = ("uniform", "downsample-consistent", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Variants of the stages, and the seed that settles ties and draws.

    `common` is the number of models that a group must be kept for; up to 1, the stage keeps all.
    `unfiltered` keeps every reply that could be read and was graded, right and wrong; `unjudged`
    holds replies to no judgment and no rule, for strategies that ask for none.

    Two are flags of the authors' released filter. `tolerate_mismatch` (`--tolerate-mismatch`)
    forgives one passage of a reply that is called relevant where it is irrelevant, or the other
    way round. `drop_longest` (`--enable-drop`) is the share of a group's replies, by length, that
    the rules drop of what they would keep; it is rounded up, and one reply always stays.
    """

    rules: str = FILTER.rules
    alignment: str = FILTER.alignment
    balance: str = FILTER.balance
    common: int = 1
    seed: int = FILTER.seed
    unfiltered: bool = False
    unjudged: bool = False
    tolerate_mismatch: bool = False
    drop_longest: float = FILTER.drop_longest

    def __post_init__(self) -> None:
        chosen = (self.rules, RULES), (self.alignment, ALIGNMENTS), (self.balance, BALANCES)
        for name, known in chosen:
            if name not in known:
                raise UnknownNameError(name, known)
        if self.unfiltered and self.unjudged:
            raise UsageError(
                say("`unfiltered` keeps every reply, judged or not: leave `unjudged` out"),
                parameter="unjudged",
            )
        if self.tolerate_mismatch and not self.judges:
            raise UsageError.saying("no judgment is looked at: leave `tolerate_mismatch` out")
        if self.drop_longest and self.unfiltered:
            raise UsageError(
                say("`unfiltered` keeps every reply: leave `drop_longest` out"),
                parameter="drop_longest",
            )
        if not 0 <= self.drop_longest < 1:
            raise UsageError.saying("`drop_longest` is a share of replies: 0 or more, and below 1")
        if self.seed < 0:
            raise UsageError("a seed is 0 or more")

    @property
    def judges(self) -> bool:
        """Say whether replies are held to their judgments and to the rules."""
        return not (self.unfiltered or self.unjudged)

    @property
    def is_written(self) -> bool:
        """Say whether the target takes the place of the stated confidence."""
        return self.alignment in WRITTEN
