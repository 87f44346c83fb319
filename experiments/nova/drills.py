"""Drills: short groups of every kind, to learn what a passage says about a question, if anything.

They are cut from the retrieval data. A passage that misleads is the gold one with its answer
exchanged for that of another question of the same shape. Noise is what answers the next question,
in the same dress, so that only a look at the question tells noise from evidence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from experiments.nova.reading import window
from experiments.nova.splits import states
from experiments.nova.warmup import bare, fits, make_row, steps_of
from novarag.grading import contains, normalize
from novarag.records import Passage, PassageGroup
from novarag.seeding import rng_for
from novarag.sft.examples import Example
from novarag.strategies.template import lay_out
from novarag.taxonomy import GroupKind, PassageKind, Provenance

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from novarag.records import Question

    Pair = tuple[Question, Passage]

_WORDS = (50, 42, 34)  # of the windows that are cut from one passage
_KINDS = tuple(GroupKind)
_SIZES = (3, 3, 3, 5)  # passages
_VANILLA = 8  # every so many drills with evidence is asked by `vanilla`
_FORMS = (
    None, "nova", None, "vanilla", None, "nova", None, "cot",
    None, "nova", None, "vanilla", None, "nova", None, "noise-aware",
)  # fmt: skip
# In no strategy's words: what is taught here is to read, not how to reply to a strategy.
_TASK = "Read the passages below and say what each of them answers to the question."
_ASKED = "Go through the passages in steps. If one of them answers, end with the answer."


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
    kept = _families(pairs, seed)
    for i, (question, found) in enumerate(kept):
        rng = rng_for(seed, question.id, "drill")
        size = _SIZES[i // len(_KINDS) % len(_SIZES)]
        shown = _shown(found, _KINDS[i % len(_KINDS)], rng)
        for _, others in kept[i + 1 :] + kept[:i]:
            shown += _noise(question, others, rng)
            if len(shown) >= size:
                break
        yield from _dealt(question, shown[:size], rng, "drill")


def tossed(pairs: Sequence[Pair], seed: int) -> Iterator[PassageGroup]:
    """Make one group of each question, a coin for each passage: no passage tells of the others.

    Where the kinds come in turn, what was said of the first passages gives the last ones away.
    """
    kept = _families(pairs, seed)
    for i, (question, found) in enumerate(kept):
        rng = rng_for(seed, question.id, "toss")
        size = _SIZES[i % len(_SIZES)]
        heads = sum(rng.random() < 0.5 for _ in range(size))
        shown = rng.sample(found, min(heads, len(found)))
        if shown == found[-1:]:
            shown = found[:1]  # that which misleads is never alone
        while len(shown) < size:
            other, family = rng.choice(kept)
            if other.id != question.id:
                shown += _noise(question, family, rng)[: rng.choice((1, 1, 2))]
        yield from _dealt(question, shown[:size], rng, "toss")


def _dealt(
    question: Question, shown: list[Passage], rng: random.Random, name: str
) -> Iterator[PassageGroup]:
    """Make a group of passages in any order, if they fit."""
    rng.shuffle(shown)
    group = PassageGroup(id=f"{question.id}/{name}", question=question, passages=tuple(shown))
    if fits(group):
        yield group


def _noise(question: Question, others: Sequence[Passage], rng: random.Random) -> list[Passage]:
    """Return what answers another question and does not answer this one."""
    found = [Passage(text=p.text, kind=PassageKind.IRRELEVANT) for p in others]
    rng.shuffle(found)
    return [passage for passage in found if not states(passage.text, question)]


def _families(pairs: Sequence[Pair], seed: int) -> list[tuple[Question, list[Passage]]]:
    """Cut what answers each question; a question that gives nothing is left out."""
    shapes: dict[tuple[bool, bool, int], list[str]] = defaultdict(list)
    for question, _ in pairs:
        shapes[shape_of(question.answers[0])].append(question.answers[0])
    cut = [
        _evidence(question, gold.text, shapes, rng_for(seed, question.id, "evidence"))
        for question, gold in pairs
    ]
    return [(pair[0], found) for pair, found in zip(pairs, cut, strict=True) if found]


def _evidence(
    question: Question,
    text: str,
    shapes: dict[tuple[bool, bool, int], list[str]],
    rng: random.Random,
) -> list[Passage]:
    """Cut windows that answer, and one that misleads, last; nothing where that cannot be done."""
    answer = question.answers[0]
    cut = [window(text, rng, answer=answer, longest=longest) for longest in _WORDS]
    gold = [_passage(part, PassageKind.GOLD, answer) for part in dict.fromkeys(cut) if part]
    other = rng.choice(shapes[shape_of(answer)])
    same = normalize(other) == normalize(answer)
    false = None if same or not gold else exchanged(rng.choice(gold).text, answer, other)
    return [*gold, _passage(false, PassageKind.COUNTERFACTUAL, other)] if false else []


def _shown(found: list[Passage], kind: GroupKind, rng: random.Random) -> list[Passage]:
    """Take what makes a group one of its kind."""
    if kind is GroupKind.IRRELEVANT:
        return []
    gold = found[:-1][: rng.choice((1, 2, 2))]
    return gold if kind is GroupKind.CONSISTENT else [*gold, found[-1]]


def _passage(text: str, kind: PassageKind, claim: str | None = None) -> Passage:
    return Passage(text=text, kind=kind, claim=claim, provenance=Provenance.ORIGINAL)


def plain_row(group: PassageGroup) -> Example:
    """Ask in words of no strategy; the reply is the steps, and the answer where a passage has it."""
    shown = lay_out([passage.text for passage in group.passages])
    asked = f"Question: {group.question.text}\n\nRetrieved passages ({len(group.passages)}):"
    answer = bare(group.question.answers[0])
    end = "" if group.kind is GroupKind.IRRELEVANT else f"Answer: {answer}"
    return Example(
        prompt="\n".join([_TASK, "", asked, shown, "", _ASKED]),
        completion=f"{steps_of(group)}{end}".strip(),
        question=group.question.id,
        group=str(group.id),
        kind=str(group.kind),
        answer=answer,
        confidence=0.0,  # none is stated; the row is written without it
        correct=True,
    )


def drill_rows(
    pairs: Sequence[Pair], stated: Sequence[float], seed: int, *, count: int
) -> list[tuple[PassageGroup, str | None, Example]]:
    """Make rows in plain words, and every eighth with evidence in the form of `vanilla`.

    `vanilla` sees groups with evidence alone: in two lines one can only learn to guess without.
    """
    rows: list[tuple[PassageGroup, str | None, Example]] = []
    evident = 0
    for group in drills(pairs, seed):
        evident += group.kind is not GroupKind.IRRELEVANT
        if group.kind is not GroupKind.IRRELEVANT and evident % _VANILLA == 0:
            rows.append((group, "vanilla", make_row(group, "vanilla", stated, seed)))
        else:
            rows.append((group, None, plain_row(group)))
        if len(rows) == count:
            return rows
    return rows


def toss_rows(
    pairs: Sequence[Pair], stated: Sequence[float], seed: int, *, count: int
) -> list[tuple[PassageGroup, str | None, Example]]:
    """Make rows of tossed groups, the forms in turn; two lines without evidence are not taught."""
    rows: list[tuple[PassageGroup, str | None, Example]] = []
    for i, group in enumerate(islice(tossed(pairs, seed), count)):
        name = _FORMS[i % len(_FORMS)]
        if group.kind is GroupKind.IRRELEVANT and name != "nova":
            name = None
        row = make_row(group, name, stated, seed) if name else plain_row(group)
        rows.append((group, name, row))
    return rows
