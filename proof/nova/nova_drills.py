"""Drills: short groups of every kind, to learn whether a passage answers a question at all.

They are cut from the retrieval data. A passage that misleads is the gold one with its answer
exchanged for that of another question of the same shape; noise is the gold of other questions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from nova_reading import window
from nova_warmup import fits, make_row

from novarag.grading import contains, normalize
from novarag.grouping import rng_for
from novarag.records import Passage, PassageGroup
from novarag.taxonomy import GroupKind, PassageKind, Provenance

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from novarag.records import Question
    from novarag.sft.examples import Example

    Pair = tuple[Question, Passage]

_WORDS = 40  # of a passage
# As many passages that answer as passages that do not, so that neither is the safe thing to say.
_TURNS = (
    GroupKind.COUNTERFACTUAL, GroupKind.CONSISTENT, GroupKind.COUNTERFACTUAL, GroupKind.CONSISTENT,
    GroupKind.IRRELEVANT,
)  # fmt: skip
_TURN = ("vanilla", "noise-aware", "vanilla", "cot")


def shape_of(answer: str) -> tuple[bool, bool, int]:
    """Say what an answer looks like: with digits, with capitals, of how many words.

    >>> shape_of("Lex Luger"), shape_of("1898")
    ((False, True, 2), (True, False, 1))
    """
    digits = any(c.isdigit() for c in answer)
    return digits, answer[:1].isupper(), min(len(answer.split()), 3)


def exchanged(text: str, answer: str, other: str) -> str | None:
    """Put another answer in place of the one a text gives; None if that cannot be done wholly."""
    made = re.sub(re.escape(answer), lambda _: other, text, flags=re.IGNORECASE)
    gone = not contains(normalize(made), normalize(answer))
    return made if gone and contains(normalize(made), normalize(other)) else None


def drills(pairs: Sequence[Pair], seed: int) -> Iterator[PassageGroup]:
    """Make one group of each question, its kind in turn; a question that gives none is left out."""
    shapes: dict[tuple[bool, bool, int], list[str]] = defaultdict(list)
    for question, _ in pairs:
        shapes[shape_of(question.answers[0])].append(question.answers[0])
    for i, (question, gold) in enumerate(pairs):
        rng = rng_for(seed, question.id, "drill")
        kind = _TURNS[i % len(_TURNS)]
        found = _passages(question, gold.text, kind, shapes[shape_of(question.answers[0])], rng)
        if found is None:
            continue
        while len(found) < 3:
            other, passage = rng.choice(pairs)
            text = window(passage.text, rng, longest=_WORDS)
            if other.id != question.id and text and not _answers(question, text):
                found.append(_passage(text, PassageKind.IRRELEVANT))
        rng.shuffle(found)
        group = PassageGroup(id=f"{question.id}/drill", question=question, passages=tuple(found))
        if fits(group):
            yield group


def _passages(
    question: Question, text: str, kind: GroupKind, answers: Sequence[str], rng: random.Random
) -> list[Passage] | None:
    """Cut what makes a group one of its kind; None where the text does not give it."""
    if kind is GroupKind.IRRELEVANT:
        return []
    answer = question.answers[0]
    cut = [window(text, rng, answer=answer, longest=_WORDS - 8 * i) for i in range(2)]
    if cut[0] is None:
        return None
    gold = [_passage(part, PassageKind.GOLD, answer) for part in dict.fromkeys(cut) if part]
    gold = gold[: rng.choice((1, 2, 2))]
    if kind is GroupKind.CONSISTENT:
        return gold
    other = rng.choice(answers)
    false = exchanged(cut[0], answer, other) if normalize(other) != normalize(answer) else None
    if false is None:
        return None
    return [*gold, _passage(false, PassageKind.COUNTERFACTUAL, other)]


def _answers(question: Question, text: str) -> bool:
    return any(contains(normalize(text), normalize(answer)) for answer in question.answers)


def _passage(text: str, kind: PassageKind, claim: str | None = None) -> Passage:
    return Passage(text=text, kind=kind, claim=claim, provenance=Provenance.ORIGINAL)


def drill_rows(
    pairs: Sequence[Pair], stated: Sequence[float], seed: int, *, count: int
) -> list[tuple[PassageGroup, str, Example]]:
    """Make seven rows of eight in the form of `nova`, the eighth in one of the others, in turn.

    The others see groups with evidence alone: in two lines one can only learn to guess without.
    """
    rows: list[tuple[PassageGroup, str, Example]] = []
    turn = 0
    for group in drills(pairs, seed):
        other = len(rows) % 8 == 7 and group.kind is not GroupKind.IRRELEVANT
        name = _TURN[turn % len(_TURN)] if other else "nova"
        turn += other
        rows.append((group, name, make_row(group, name, stated, seed)))
        if len(rows) == count:
            return rows
    return rows
