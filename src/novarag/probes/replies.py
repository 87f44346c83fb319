"""Replies to the variants of a question, and the arrays that relations score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.records import Question, Response
    from novarag.stats.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """One group with the replies to each of its variants, by the variant's name.

    A reply that came and could not be read is None. A variant that could not be made, or whose
    calls failed, is missing or has fewer replies. Several groups may share a question.
    """

    question: Question
    replies: Mapping[str, Sequence[Response | None]]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Replies as arrays: a row for each group, a column for each reply.

    `confidence` is NaN where a reply was not read; `words` and `sets` number the answers of a row,
    strictly and leniently, and are -1 there. `asked` is False where there is no reply at all.
    """

    confidence: Floats
    words: Ints
    sets: Ints
    asked: Bools


def encode(
    probed: Sequence[Probed], first: Sequence[str], second: Sequence[str] = ()
) -> tuple[Side, Side]:
    """Lay out the replies of two lists of variants; answers of a row are numbered together."""
    raise NotImplementedError
