"""Who is taught, who is asked and who is measured: questions in an order that only hashes decide."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from itertools import combinations
from typing import TYPE_CHECKING

from novarag.errors import DataError
from novarag.taxonomy import GroupKind, PassageKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from novarag.records import PassageGroup, Question

_WORD = re.compile(r"[^\W_]+")
_RUN = 8  # words in a row that two passages share only where one was taken from the other
_HINT = "look at the data: it is not what this was written for."
_KINDS = tuple(GroupKind)


def place_of(seed: int, name: str) -> str:
    """Return the key by which a question is sorted; it says nothing about the question."""
    return sha256(f"{seed}\x1f{name}".encode()).hexdigest()


def in_hash_order(groups: Iterable[PassageGroup], seed: int) -> list[list[PassageGroup]]:
    """Put the groups of each question together, the questions in the order of their hashes."""
    found = _by_question(groups)
    return [found[name] for name in sorted(found, key=lambda name: place_of(seed, name))]


def split(names: Iterable[str], sizes: Mapping[str, int | None], seed: int) -> dict[str, set[str]]:
    """Deal questions out to the named splits by hash; a size of None takes all that is left."""
    left, parts = sorted(set(names), key=lambda name: place_of(seed, name)), {}
    for name, size in sizes.items():
        taken = left if size is None else left[:size]
        if size is not None and len(taken) < size:
            raise DataError(
                f"there are {len(taken)} questions for {name!r}, {size} are needed.", hint=_HINT
            )
        left = left[len(taken) :]
        parts[name] = set(taken)
    return parts


def dealt(
    sizes: Mapping[int, Iterable[PassageGroup]], seed: int, *, each: bool = False
) -> list[PassageGroup]:
    """Take one group of each question, or with `each` one of every kind it has.

    `sizes` has the groups by their number of passages. Questions take the sizes in turn, and the
    kinds in turn where they give one group; what a question lacks, another of its groups stands for.
    """
    known: dict[int, dict[str, list[PassageGroup]]] = {
        k: _by_question(groups) for k, groups in sizes.items()
    }
    names = sorted(set().union(*known.values()), key=lambda name: place_of(seed, name))
    taken: list[PassageGroup] = []
    for rank, name in enumerate(names):
        turn = list(known)[rank % len(known) :] + list(known)[: rank % len(known)]
        groups = next(known[k][name] for k in turn if name in known[k])
        kind = _KINDS[rank // len(known) % len(_KINDS)]
        ordered = sorted(groups, key=lambda g: g.kind is not kind)
        taken += groups if each else ordered[:1]
    return taken


def _by_question(groups: Iterable[PassageGroup]) -> dict[str, list[PassageGroup]]:
    found: dict[str, list[PassageGroup]] = {}
    for group in groups:
        found.setdefault(group.question.id, []).append(group)
    return found


def plain(text: str) -> str:
    """Reduce a question to its lower-case words, so that two spellings of it are one.

    >>> plain("Who -- wrote  'Emma'?") == plain("who wrote Emma")
    True
    """
    return " ".join(_WORD.findall(text.lower()))


def check_disjoint(
    learnt: Mapping[str, Sequence[Question]], tests: Mapping[str, Sequence[Question]]
) -> None:
    """Raise if a question of one split, by name or by words, is also in another."""
    pairs = list(combinations([*learnt, *tests], 2))
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


def counts(groups: Sequence[PassageGroup]) -> dict[str, object]:
    """Count a file's groups, its questions, and the kinds of both groups and passages."""
    return {
        "groups": len(groups),
        "questions": len({g.question.id for g in groups}),
        "kinds": dict(sorted(Counter(str(g.kind) for g in groups).items())),
        "passages": dict(sorted(Counter(str(p.kind) for g in groups for p in g.passages).items())),
    }
