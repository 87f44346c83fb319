"""A blind rating sheet: the same questions answered by several systems, in shuffled order.

What raters see is in `RatingSheet.entries`; which system stands behind which letter is in the
sheet's `key`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from hashlib import blake2b
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from novarag.errors import DataError, UsageError
from novarag.prose import say
from novarag.seeding import rng_for
from novarag.study.rubric import RUBRIC, Rubric, rubric_of
from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from novarag.records import PassageGroup, Trial

SheetCell = tuple[str, str]
"""A question's id and its group's: what two systems were both asked."""

_FORMAT = "novarag study key 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetEntry:
    """What raters see of one question: the group, and the replies in the order shown."""

    group: PassageGroup
    replies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """What raters do not see of one question: where it comes from, and who replied in what order.

    `order[i]` is the place in `SheetKey.systems` of the system behind the i-th reply shown.
    """

    question: str
    group: str
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetKey:
    """All that is needed to read ratings of a sheet, and to take the blindfold off."""

    sheet: str
    systems: tuple[str, ...]
    rubric: Rubric
    entries: tuple[KeyEntry, ...]
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RatingSheet:
    """A sheet and its key; `answers` says whether raters are shown the accepted answers."""

    entries: tuple[SheetEntry, ...]
    key: SheetKey
    answers: bool = False

    @property
    def id(self) -> str:
        """Return what ratings name their sheet by."""
        return self.key.sheet

    def __repr__(self) -> str:
        systems = ", ".join(self.key.systems)
        return f"Sheet {self.id}: {len(self.entries):,} questions, replies of {systems}"


def letter(place: int) -> str:
    """Name the reply at a place.

    >>> letter(0), letter(4)
    ('A', 'E')
    """
    return ascii_uppercase[place]


def place_of(group: PassageGroup) -> SheetCell:
    """Return what a group is known by."""
    return group.question.id, group.id or ""


def draw_places(
    asked: Sequence[Iterable[SheetCell]],
    questions: int,
    *,
    seed: int,
    parts: Mapping[str, str] | None = None,
) -> list[SheetCell]:
    """Draw questions that every system was asked, and one group of each.

    `asked` holds what each system has replies to. The draw depends on what they share alone.
    `parts` names the set of each question: then as many are drawn from each, as far as it has them.
    """
    shared = set.intersection(*(set(places) for places in asked))
    by_question: dict[str, list[SheetCell]] = {}
    for place in sorted(shared):
        by_question.setdefault(place[0], []).append(place)
    if len(by_question) < questions:
        raise UsageError(
            f"{len(by_question):,} questions have a reply of every system, and {questions:,} are"
            " wanted: ask for fewer, or give runs that were asked the same groups"
        )
    lots = questions if parts is None else len(by_question)
    drawn = rng_for(seed, "study").sample(sorted(by_question), lots)
    if parts is not None:
        drawn = _in_turn(drawn, parts)[:questions]
    return [rng_for(seed, "study", question).choice(by_question[question]) for question in drawn]


def _in_turn(drawn: Sequence[str], parts: Mapping[str, str]) -> list[str]:
    """Take a question of each part in turn, so that every beginning is even."""
    seen: Counter[str] = Counter()
    turns = []
    for question in drawn:
        turns.append((seen[parts[question]], question))
        seen[parts[question]] += 1
    return [question for _, question in sorted(turns, key=lambda turn: turn[0])]


def make_sheet(
    systems: Mapping[str, Sequence[Trial]],
    *,
    questions: int = 20,
    seed: int = 0,
    rubric: Rubric = RUBRIC,
    answers: bool = False,
    parts: Mapping[str, str] | None = None,
) -> RatingSheet:
    """Make a sheet of trials, by the name of the system; the first reply to a group is shown.

    `parts` names the set that each question is from; then all sets have as many questions.
    A reply that no confidence could be read from is shown like any other: raters can read it.
    """
    names = tuple(systems)
    if not 2 <= len(names) <= len(ascii_uppercase):
        raise UsageError(f"a study compares 2 to {len(ascii_uppercase)} systems, not {len(names)}")
    first: list[dict[SheetCell, Trial]] = [{} for _ in names]
    for name, held in zip(names, first, strict=True):
        for trial in sorted(systems[name], key=lambda t: t.sample):
            held.setdefault(place_of(trial.group), trial)
    entries, hidden = [], []
    for place in draw_places(first, questions, seed=seed, parts=parts):
        trials = [held[place] for held in first]
        _check_same([t.group for t in trials], names)
        order = list(range(len(names)))
        rng_for(seed, "study", *place).shuffle(order)
        replies = tuple(trials[i].completion.text for i in order)
        entries.append(SheetEntry(group=trials[0].group, replies=replies))
        hidden.append(KeyEntry(question=place[0], group=place[1], order=tuple(order)))
    content = [names, asdict(rubric), [asdict(h) for h in hidden], [_shown(e) for e in entries]]
    sheet = blake2b(json.dumps([*content, answers]).encode(), digest_size=6).hexdigest()
    models = tuple(next(iter(held.values())).completion.model for held in first)
    key = SheetKey(sheet=sheet, systems=names, rubric=rubric, entries=tuple(hidden), models=models)
    return RatingSheet(entries=tuple(entries), key=key, answers=answers)


def _shown(entry: SheetEntry) -> list[object]:
    return [*_content(entry.group), entry.group.question.answers, entry.replies]


def _content(group: PassageGroup) -> tuple[str, tuple[str, ...]]:
    return group.question.text, tuple(p.text for p in group.passages)


def _check_same(groups: Sequence[PassageGroup], names: Sequence[str]) -> None:
    for group, name in zip(groups, names, strict=True):
        if _content(group) != _content(groups[0]):
            raise DataError(
                f"group {group.id or group.question.id!r} has other passages or another question"
                f" than in {names[0]}.",
                hint="compare runs that were asked the same groups.",
                source=name,
            )


def key_text(key: SheetKey) -> str:
    """Write a key as JSON."""
    return json.dumps({"format": _FORMAT, **asdict(key)}, indent=1, ensure_ascii=False) + "\n"


def read_key(text: str, *, source: str = "key.json") -> SheetKey:
    """Read a key back; raise `DataError` where it is not whole."""
    try:
        content = parse_json(text)
        if content["format"] != _FORMAT:
            raise ValueError  # noqa: TRY301 - one message for all that is not a key
        key = SheetKey(
            sheet=str(content["sheet"]),
            systems=tuple(str(name) for name in content["systems"]),
            rubric=rubric_of(content["rubric"], source=source),
            entries=tuple(_key_entry(part, len(content["systems"])) for part in content["entries"]),
            models=tuple(str(name) for name in content.get("models", ())),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            "this is not the key of a sheet, or not all of it.",
            hint=say("give the folder that `make_rating_sheet(...)` wrote, with its key.json."),
            source=source,
        ) from error
    return key


def _key_entry(part: Any, systems: int) -> KeyEntry:  # noqa: ANN401 - a file holds anything
    order = tuple(part["order"])
    if sorted(order) != list(range(systems)):
        raise ValueError
    return KeyEntry(question=str(part["question"]), group=str(part["group"]), order=order)
