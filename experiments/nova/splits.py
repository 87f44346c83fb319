"""Who is taught, who is asked and who is measured: questions in an order that only hashes decide."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from itertools import combinations
from typing import TYPE_CHECKING

from experiments.nova.reading import window
from novarag.errors import DataError
from novarag.grading import contains, normalize
from novarag.grouping import assemble
from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.seeding import rng_for
from novarag.taxonomy import GroupKind, PassageKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_WORD = re.compile(r"[^\W_]+")
_RUN = 8  # words in a row that two passages share only where one was taken from the other
_HINT = "look at the data: it is not what this was written for."
_KINDS = tuple(GroupKind)


def place_of(seed: int, name: str) -> str:
    """Return the key by which a question is sorted; it says nothing about the question."""
    return sha256(f"{seed}\x1f{name}".encode()).hexdigest()


def in_hash_order(groups: Iterable[PassageGroup], seed: int) -> list[list[PassageGroup]]:
    """Put the groups of each question together, the questions in the order of their hashes."""
    found: dict[str, list[PassageGroup]] = {}
    for group in groups:
        found.setdefault(group.question.id, []).append(group)
    return [found[name] for name in sorted(found, key=lambda name: place_of(seed, name))]


def split(
    groups: Iterable[PassageGroup], sizes: Mapping[str, int | None], seed: int
) -> dict[str, list[PassageGroup]]:
    """Deal whole questions out to the named splits; a size of None takes all that is left."""
    questions, parts = in_hash_order(groups, seed), {}
    for name, size in sizes.items():
        taken = questions if size is None else questions[:size]
        if size is not None and len(taken) < size:
            raise DataError(
                f"there are {len(taken)} questions for {name!r}, {size} are needed.", hint=_HINT
            )
        questions = questions[len(taken) :]
        parts[name] = [group for question in taken for group in question]
    return parts


def one_each(groups: Iterable[PassageGroup], count: int, seed: int) -> list[PassageGroup]:
    """Take one group of each of the first open questions, the three kinds in turn."""
    open_ones = (g for g in groups if g.question.form is AnswerForm.OPEN)
    questions = in_hash_order(open_ones, seed)[:count]
    return [
        next(g for g in question if g.kind is _KINDS[rank % len(_KINDS)])
        for rank, question in enumerate(questions)
    ]


def plain(text: str) -> str:
    """Reduce a question to its lower-case words, so that two spellings of it are one.

    >>> plain("Who -- wrote  'Emma'?") == plain("who wrote Emma")
    True
    """
    return " ".join(_WORD.findall(text.lower()))


def check_disjoint(learnt: Mapping[str, Sequence[Question]], tests: Mapping[str, Sequence[Question]]) -> None:  # fmt: skip
    """Raise if a test question, or another split's, is also in a split that is learnt from."""
    pairs = [*combinations(learnt, 2), *((name, test) for name in learnt for test in tests)]
    known = {name: _marks(qs) for name, qs in {**learnt, **tests}.items()}
    for one, other in pairs:
        if both := known[one] & known[other]:
            raise DataError(
                f"{one} and {other} share {len(both)} marks of questions: {min(both)}.", hint=_HINT
            )


def _marks(questions: Iterable[Question]) -> set[tuple[str, str]]:
    found = set()
    for question in questions:
        found |= {("id", question.id), ("text", plain(question.text))}
    return found


def runs_of(text: str) -> set[str]:
    """Return every run of eight words of a passage, or the whole of a shorter one."""
    words = _WORD.findall(text.lower())
    return {" ".join(words[i : i + _RUN]) for i in range(max(len(words) - _RUN + 1, 1))} - {""}


def gold_runs(groups: Iterable[PassageGroup]) -> set[str]:
    """Return every run of words of the gold passages."""
    texts = {p.text for g in groups for p in g.passages if p.kind is PassageKind.GOLD}
    return set().union(*map(runs_of, texts))


def gold_of(groups: Iterable[PassageGroup]) -> list[tuple[Question, Passage]]:
    """Pair each open question with its original gold passage, where that holds an answer."""
    found: dict[str, tuple[Question, Passage]] = {}
    for group in groups:
        question = group.question
        if question.form is not AnswerForm.OPEN or question.id in found:
            continue
        for passage in group.passages:
            original = passage.provenance is Provenance.ORIGINAL
            if passage.kind is PassageKind.GOLD and original and states(passage.text, question):
                found[question.id] = question, passage
                break
    return list(found.values())


def states(text: str, question: Question) -> bool:
    """Say whether a text holds an accepted answer."""
    words = normalize(text)
    return any(contains(words, normalize(answer)) for answer in question.answers)


def others(
    question: Question, golds: Sequence[tuple[Question, Passage]], seed: int, *, count: int = 2
) -> list[Passage]:
    """Draw gold passages of other questions that do not answer this one."""
    drawn: list[Passage] = []
    order = list(range(len(golds)))
    rng_for(seed, question.id, "others").shuffle(order)
    for i in order:
        other, passage = golds[i]
        fresh = passage.text not in [p.text for p in drawn]
        if other.id != question.id and fresh and not states(passage.text, question):
            drawn.append(Passage(text=passage.text, kind=PassageKind.IRRELEVANT))
        if len(drawn) == count:
            return drawn
    raise DataError(
        f"there are fewer than {count} passages to set beside {question.id!r}.", hint=_HINT
    )


def reading_groups(
    golds: Sequence[tuple[Question, Passage]], seed: int, *, asked: int | None = None
) -> list[PassageGroup]:
    """Set a window of each gold passage among two of others, shuffled: can a model read at all?"""
    made = []
    for question, passage in golds:
        rng = rng_for(seed, question.id, "window")
        stated = next(
            a for a in question.answers if contains(normalize(passage.text), normalize(a))
        )
        gold = window(passage.text, rng, answer=stated)
        if gold is None:
            continue
        shown = [Passage(text=gold, kind=PassageKind.GOLD, provenance=passage.provenance)]
        for other in others(question, golds, seed):
            text = window(other.text, rng) or other.text
            shown.append(Passage(text=text, kind=other.kind))
        made.append(assemble(question, shown, seed=seed, id=f"{question.id}/reader-k3"))
        if len(made) == asked:
            break
    return made


def counts(groups: Sequence[PassageGroup]) -> dict[str, object]:
    """Count a file's groups, its questions, and the kinds of both groups and passages."""
    return {
        "groups": len(groups),
        "questions": len({g.question.id for g in groups}),
        "kinds": dict(sorted(Counter(str(g.kind) for g in groups).items())),
        "passages": dict(sorted(Counter(str(p.kind) for g in groups for p in g.passages).items())),
    }
