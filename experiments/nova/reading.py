"""Questions whose answer stands in one passage, and short windows of such passages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from novarag.grading import contains, normalize, polarity
from novarag.records import Passage, Question
from novarag.taxonomy import PassageKind, Provenance

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence


SETS = ("nq-open-oracle", "hotpotqa-dev500")
"""The question sets of the retrieval data that people wrote and answered."""

_WINDOW = 60  # words of a passage that are shown
_ANSWER = 5  # words
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)\"'][.!?]) ")  # not after an initial


def answered(
    rows: Iterable[Mapping[str, Any]], texts: Mapping[str, str]
) -> list[tuple[Question, Passage]]:
    """Pair each open question with the one gold passage that holds a short answer to it.

    The answer that is found comes first in the question; a passage serves one question.
    """
    found, taken = [], set()
    for row in rows:
        stated = [
            (gold, answer) for gold in row["gold_ids"] if (answer := _stated(row, texts[gold]))
        ]
        if row["dataset"] not in SETS or row["same_as"] or len(stated) != 1:
            continue
        gold, answer = stated[0]
        if gold not in taken:
            taken.add(gold)
            answers = dict.fromkeys([answer, *row["answers"]])
            question = Question(id=row["qid"], text=row["question"], answers=tuple(answers))
            text = " ".join(texts[gold].split())
            kind, provenance = PassageKind.GOLD, Provenance.ORIGINAL
            found.append((question, Passage(text=text, kind=kind, provenance=provenance)))
    return found


def _stated(row: Mapping[str, Any], text: str) -> str | None:
    words = normalize(text)
    for answer in row["answers"]:
        short = len(answer.split()) <= _ANSWER and polarity(answer) is None
        if short and contains(words, normalize(answer)):
            return str(answer)
    return None


def window(
    text: str, rng: random.Random, *, answer: str | None = None, longest: int = _WINDOW
) -> str | None:
    """Cut a window of a text that holds the answer, at the ends of sentences where that is possible.

    None where the answer is not in the text, or too long for a window.
    """
    cut: list[str] = []
    for pieces in (_SENTENCE_END.split(text), text.split()):
        parts = (_from(pieces[start:], longest) for start in range(len(pieces)))
        cut += [part for part in parts if part and _holds(part, answer)]
        # Half a window at least, where there is one: else short texts would tell gold from noise.
        if full := [part for part in cut if 2 * len(part.split()) >= longest]:
            return rng.choice(full)
    return max(cut, key=lambda part: len(part.split()), default=None)


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
