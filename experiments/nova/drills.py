"""Drills: short groups that teach what a passage says about a question, if anything.

They are made of questions with what a real search found for them. A passage that misleads is the
gold one with its answer exchanged for that of another question of the same shape. Noise is what the
search found without the answer, or evidence of another question, so that only a look at the
question tells noise from evidence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from experiments.nova.warmup import fits, make_row, steps_of
from experiments.nova.windows import WORDS, as_found, nearest, stated, windows
from novarag.grading import contains, normalize
from novarag.records import Passage, PassageGroup
from novarag.seeding import rng_for
from novarag.strategies.template import lay_out
from novarag.taxonomy import GroupKind, PassageKind, Provenance

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from novarag.records import Question
    from novarag.sft.examples import TrainingExample

    Shape = tuple[bool, bool, int]

SIZES = (3, 5)
"""Passages of a drill, in turn."""

_LENGTHS = (WORDS, WORDS - 8, WORDS - 14)  # words of the windows that are cut from one passage
_EVIDENCE = (1, 2, 2, 3)  # passages with evidence, one drawn; a third of all drills have none
_NOISE = 0.7  # share of the noise that the search found for the question itself
# In no strategy's words: what is taught here is to read, not how to reply to a strategy.
_TASK = "Read the passages below and say what each of them answers to the question."
_ASKED = "Go through the passages in steps, then give the answer and how sure of it you are."


def shape_of(answer: str) -> Shape:
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


class Exchange:
    """Answers of other questions by their shape, to mislead with."""

    def __init__(self, questions: Iterable[Question], seed: int) -> None:
        self.seed = seed
        self._shapes: Mapping[Shape, list[str]] = defaultdict(list)
        for question in questions:
            self._shapes[shape_of(question.answers[0])].append(question.answers[0])

    def misleading(self, gold: Passage, question: Question) -> Passage | None:
        """Make a passage that gives another answer; None where that cannot be done."""
        answer = stated(gold.text, question)
        if answer is None:
            return None
        rng = rng_for(self.seed, question.id, "exchange")
        others = self._shapes.get(shape_of(answer)) or []
        for other in rng.sample(others, min(5, len(others))):
            made = exchanged(gold.text, answer, other)
            if made is not None and stated(made, question) is None:
                return replace(gold, text=made, kind=PassageKind.COUNTERFACTUAL, claim=other)
        return None


@dataclass(frozen=True, slots=True)
class Family:
    """What can be shown beside a question: windows that answer, one that misleads, and noise."""

    question: Question
    gold: tuple[Passage, ...]
    misleading: Passage
    noise: tuple[Passage, ...]


def families(pools: Iterable[PassageGroup], exchange: Exchange) -> list[Family]:
    """Cut what each question has; one that lacks something is left out.

    A pool has gold passages, labelled, and what a search found without the answer, as relevant.
    """
    found = (_family(pool, exchange) for pool in pools)
    return [family for family in found if family is not None]


def _family(pool: PassageGroup, exchange: Exchange) -> Family | None:
    question = pool.question
    known = [p for p in pool.passages if p.kind is PassageKind.GOLD and stated(p.text, question)]
    noise = [p for p in pool.passages if p.kind is PassageKind.RELEVANT]
    if not known or not noise:
        return None
    gold = _gold(known[0], question)
    false = exchange.misleading(gold[0], question) if gold else None
    shown = tuple(
        as_found(replace(p, text=text), question)
        for p in noise
        if (text := nearest(windows(p.text), question.text)) and not stated(text, question)
    )
    return Family(question, tuple(gold), false, shown) if false and len(shown) > 1 else None


def _gold(passage: Passage, question: Question) -> list[Passage]:
    """Cut windows of several lengths that hold the answer, each text once."""
    answer = stated(passage.text, question)
    cut = [
        nearest(windows(passage.text, answer=answer, longest=longest), question.text)
        for longest in _LENGTHS
    ]
    return [replace(passage, text=text, claim=answer) for text in dict.fromkeys(cut) if text]


def drills(made: Sequence[Family], seed: int) -> Iterator[PassageGroup]:
    """Make one group of each question: a third without evidence, the sizes in turn.

    How many passages answer is drawn, and whether one misleads: no passage tells of the others.
    """
    for i, family in enumerate(made):
        rng = rng_for(seed, family.question.id, "drill")
        size = SIZES[i // 3 % len(SIZES)]
        shown = [] if i % 3 == 0 else _evidence(family, rng, rng.choice(_EVIDENCE))
        near = rng.sample(family.noise, len(family.noise))
        while len(shown) < size:
            if near and rng.random() < _NOISE:
                shown.append(near.pop())
            else:
                shown += _foreign(rng.choice(made), family.question, rng)
        shown = list({passage.text: passage for passage in shown}.values())[:size]
        rng.shuffle(shown)
        group = PassageGroup(
            id=f"{family.question.id}/drill-{seed}-k{size}",
            question=family.question,
            passages=tuple(shown),
        )
        if fits(group) and len(shown) == size:
            yield group


def _evidence(family: Family, rng: random.Random, count: int) -> list[Passage]:
    """Take so many passages that answer; with two or more, one of them misleads in every other."""
    if count > 1 and rng.random() < 0.6:
        return [*rng.sample(family.gold, min(count - 1, len(family.gold))), family.misleading]
    return rng.sample(family.gold, min(count, len(family.gold)))


def _foreign(other: Family, question: Question, rng: random.Random) -> list[Passage]:
    """Take a passage that answers another question and does not answer this one."""
    passage = rng.choice([*other.gold, other.misleading, *other.noise])
    if other.question.id == question.id or stated(passage.text, question):
        return []
    return [Passage(text=passage.text, kind=PassageKind.IRRELEVANT, provenance=_FOUND)]


_FOUND = Provenance.RETRIEVED


def plain_row(group: PassageGroup) -> TrainingExample:
    """Ask in words of no strategy; the reply is the steps, the answer and a confidence."""
    shown = lay_out([passage.text for passage in group.passages])
    asked = f"Question: {group.question.text}\n\nRetrieved passages ({len(group.passages)}):"
    row = make_row(group, "vanilla")
    prompt = "\n".join([_TASK, "", asked, shown, "", _ASKED])
    return replace(row, prompt=prompt, completion=f"{steps_of(group)}{row.completion}")


def drill_rows(
    made: Sequence[Family],
    seed: int,
    *,
    count: int,
    forms: Sequence[str | None],
) -> list[tuple[PassageGroup, str | None, TrainingExample]]:
    """Make rows of drills, the forms in turn; two lines without evidence are not taught.

    Questions come round again with other passages until there are enough rows.
    """
    rows: list[tuple[PassageGroup, str | None, TrainingExample]] = []
    turn = 0
    while len(rows) < count:
        for group in drills(made, seed + turn):
            name = forms[len(rows) % len(forms)]
            if group.kind is GroupKind.IRRELEVANT and name not in {"nova", "noise-aware", "cot"}:
                name = None
            rows.append((group, name, make_row(group, name) if name else plain_row(group)))
            if len(rows) == count:
                break
        turn += 1
    return rows
