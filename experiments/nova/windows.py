"""Short windows of passages: a small model reads forty words, and a prompt of them costs little.

A window of evidence holds its answer or its claim. Of those that could be shown the one with most
of the question's words is, of noise as of evidence, so that a window does not tell the two apart by
how it was cut.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.grading import contains, normalize
from novarag.noise.validators import folded
from novarag.taxonomy import GroupKind, PassageKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import Passage, PassageGroup, Question

WORDS = 40
"""Words of a passage that are shown."""

_SHARED = 0.34  # share of a question's words that a found passage on its topic holds
_LETTERS = 3  # of a word that tells nothing by itself
_COMMON = frozenset({
    "what", "when", "where", "which", "whose", "does", "have", "from", "with", "that", "this",
    "were", "name", "many", "much", "first", "between", "their", "they", "into", "been",
})  # fmt: skip
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)\"'][.!?]) ")  # not after an initial


def windows(text: str, *, answer: str | None = None, longest: int = WORDS) -> list[str]:
    """Cut every window that holds the answer, at the ends of sentences where that is possible.

    Half a window at least, where there is one: else short texts would tell gold from noise.
    """
    cut: list[str] = []
    for pieces in (_SENTENCE_END.split(text), text.split()):
        parts = (_from(pieces[start:], longest) for start in range(len(pieces)))
        cut += [part for part in parts if part and _holds(part, answer)]
        if full := [part for part in cut if 2 * len(part.split()) >= longest]:
            return list(dict.fromkeys(full))
    return [max(cut, key=lambda part: len(part.split()))] if cut else []


def nearest(cut: Sequence[str], question: str) -> str | None:
    """Take the window with most of the question's words, the first of equals; None of none."""
    asked = set(folded(question).split())
    return max(cut, key=lambda part: len(asked & set(folded(part).split())), default=None)


def stated(text: str, question: Question) -> str | None:
    """Return the accepted answer that a text holds, or None."""
    words = normalize(text)
    return next((a for a in question.answers if contains(words, normalize(a))), None)


def on_topic(text: str, question: str) -> bool:
    """Say whether a text holds a third of the telling words of a question.

    >>> on_topic("Lamps need oil.", "When were oil lamps lit?"), on_topic("Bread.", "Oil lamps?")
    (True, False)
    """
    asked = {w for w in folded(question).split() if len(w) > _LETTERS or w.isdigit()} - _COMMON
    return len(asked & set(folded(text).split())) > _SHARED * len(asked)


def as_found(passage: Passage, question: Question) -> Passage:
    """Name a passage that a search found by what its window is: on the topic, or not."""
    if passage.provenance is not Provenance.RETRIEVED or passage.kind is not PassageKind.RELEVANT:
        return passage
    near = on_topic(passage.text, question.text)
    return passage if near else replace(passage, kind=PassageKind.IRRELEVANT)


def shorten(group: PassageGroup, longest: int = WORDS) -> PassageGroup | None:
    """Cut every passage to a window; None where evidence does not stand in one, or noise answers.

    A group without evidence keeps a passage on the topic, or is none.
    """
    asked = group.question
    cut = [_shortened(passage, asked, longest) for passage in group.passages]
    shown = tuple(as_found(passage, asked) for passage in cut if passage is not None)
    kinds = {passage.kind for passage in shown}
    topical = group.kind is not GroupKind.IRRELEVANT or PassageKind.RELEVANT in kinds
    distinct = {passage.text for passage in shown}
    if len(distinct) < len(group.passages) or not topical:
        return None
    return replace(group, passages=shown)


def _shortened(passage: Passage, question: Question, longest: int) -> Passage | None:
    text = " ".join(passage.text.split())
    answer = None
    match passage.kind:
        case PassageKind.GOLD:
            answer = stated(text, question)
        case PassageKind.COUNTERFACTUAL:
            claim = passage.claim or ""
            answer = claim if claim and contains(normalize(text), normalize(claim)) else None
        case _:
            shown = nearest(windows(text, longest=longest), question.text)
            fit = shown is not None and stated(shown, question) is None
            return replace(passage, text=shown) if shown is not None and fit else None
    if answer is None:
        return None
    shown = nearest(windows(text, answer=answer, longest=longest), question.text)
    if shown is None or (passage.kind is not PassageKind.GOLD and stated(shown, question)):
        return None
    return replace(passage, text=shown)


def _from(pieces: Sequence[str], longest: int) -> str:
    """Join as many whole pieces as a window holds."""
    taken, words = [], 0
    for piece in pieces:
        words += len(piece.split())
        if words > longest:
            break
        taken.append(piece)
    return " ".join(taken)


def _holds(part: str, answer: str | None) -> bool:
    return answer is None or contains(normalize(part), normalize(answer))
