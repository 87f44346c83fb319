"""The words of the audit's enumerations, as numbers in its rows and spelled again in its views.

Each word stands once, in the enumeration that the rest of the package uses. A number never moves:
it stands in databases and in spools, so new words go to the end of their enumeration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from novarag.records import Flaw
from novarag.scoring.policy import Action, DecisionMode
from novarag.taxonomy import EvidenceState, Utility

if TYPE_CHECKING:
    from collections.abc import Iterable

ROUTES: Final = ("chat", "stream", "score")
DECISIONS: Final = ("answer", "abstain", "clarify", "none", "failed")
VERDICTS: Final = ("right", "wrong")


def _number_words(words: Iterable[str]) -> dict[str, int]:
    return {str(word): number for number, word in enumerate(words, start=1)}


CODES: Final = {
    "route": _number_words(ROUTES),
    "mode": _number_words(DecisionMode),
    "decision": _number_words(DECISIONS),
    "action": _number_words(Action),
    "evidence": _number_words(EvidenceState),
    "flaw": _number_words(Flaw),
    "judgment": _number_words(Utility),
    "verdict": _number_words(VERDICTS),
}
"""The number of each word of each enumeration."""


def spell_column(name: str, column: str) -> str:
    """Write the SQL that spells the numbers of a column.

    Args:
        name: The enumeration, by its name in `CODES`.
        column: The column, as the query calls it.
    """
    words = ", ".join("'" + word.replace("'", "''") + "'" for word in CODES[name])
    return f"(array[{words}])[{column}]"


def list_codes(name: str, words: Iterable[str]) -> str:
    """Write the numbers of some words for SQL's `in`.

    Args:
        name: The enumeration, by its name in `CODES`.
        words: The words, in any order.
    """
    return f"({', '.join(str(number) for number in sorted(CODES[name][word] for word in words))})"
