"""Replies to the variants of a question, and the arrays that relations score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.probes.matching import agreeing, same_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.records import Question, Response
    from novarag.stats.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReplies:
    """One group with the replies to each of its variants, by the variant's name.

    A reply that came and could not be read is None. A variant that could not be made, or whose
    calls failed, is missing or has fewer replies. Several groups may share a question.
    """

    question: Question
    replies: Mapping[str, Sequence[Response | None]]


@dataclass(frozen=True, slots=True, eq=False)
class ReplyArrays:
    """Replies as arrays: a row for each group, a column for each reply.

    `confidence` is NaN where a reply was not read; `words` and `sets` number the answers of a row,
    strictly and leniently, and are -1 there. `asked` is False where there is no reply at all.
    """

    confidence: Floats
    words: Ints
    sets: Ints
    asked: Bools


def encode(
    probed: Sequence[ProbeReplies], first: Sequence[str], second: Sequence[str] = ()
) -> tuple[ReplyArrays, ReplyArrays]:
    """Lay out the replies of two lists of variants; answers of a row are numbered together."""
    sides = [[_gathered(one, names) for one in probed] for names in (first, second)]
    widths = [max((len(replies) for replies in side), default=0) for side in sides]
    words = [np.full((len(probed), width), -1) for width in widths]
    sets = [np.full((len(probed), width), -1) for width in widths]
    confidence = [np.full((len(probed), width), np.nan) for width in widths]
    asked = [np.zeros((len(probed), width), dtype=bool) for width in widths]
    for row, (one, left, right) in enumerate(zip(probed, *sides, strict=True)):
        answers = [None if reply is None else reply.answer for reply in (*left, *right)]
        numbered = same_words(answers, one.question), agreeing(answers, one.question)
        for at, replies in enumerate((left, right)):
            held = slice(len(left) * at, len(left) * at + len(replies))
            width = len(replies)
            words[at][row, :width] = numbered[0][held]
            sets[at][row, :width] = numbered[1][held]
            confidence[at][row, :width] = [
                np.nan if reply is None else reply.confidence for reply in replies
            ]
            asked[at][row, :width] = True
    made = [ReplyArrays(*arrays) for arrays in zip(confidence, words, sets, asked, strict=True)]
    return made[0], made[1]


def _gathered(one: ProbeReplies, names: Sequence[str]) -> list[Response | None]:
    return [reply for name in names for reply in one.replies.get(name, ())]
