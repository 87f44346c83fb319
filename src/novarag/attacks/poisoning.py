"""Put an attack among the passages of a group, and touch nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from novarag.attacks.suite import ANSWER, ENCODINGS, HIDDEN, QUESTION, STATES, AttackGoal
from novarag.grading import contains, grade, normalize, polarity
from novarag.records import AnswerForm, Passage
from novarag.seeding import rng_for
from novarag.taxonomy import Grade, PassageKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.attacks.suite import Attack
    from novarag.records import PassageGroup, Question

# All slots at once, so that none is filled within what fills another.
_SLOT = re.compile(f"({ANSWER}|{QUESTION}|{STATES}|{HIDDEN})")
_SEPARATOR = "\x1f"
MARK = "attack"
"""The flag of a passage that an attack has put there."""

GOAL, STATED = "goal:", "states:"
"""How the flags of such a passage say what it is meant to change: for simulated respondents."""

_NAMES = (
    "Aldermoor", "Brantley Cove", "Casimir Oduya", "Dorrigan", "Elspeth Varnay", "Fenwick Hollow",
    "Gustav Alarie", "Hestia Point", "Ivo Lindqvar", "Jorunn Beck", "Kestrel Bay", "Lorcan Mbeki",
)  # fmt: skip


class AttackPlace(StrEnum):
    """Where the passages of an attack stand among the others."""

    FIRST = "first"
    MIDDLE = "middle"
    LAST = "last"


def poison(
    group: PassageGroup, attack: Attack, place: AttackPlace | str, seed: int = 0
) -> PassageGroup:
    """Return the group with the passages of an attack put in; the others stay as they are.

    `seed` draws the wrong answer that an attack may plant, the same for every attack on a question.
    The flags of the new passages name the attack's goal; its name and place are added to the name
    of the group.
    """
    return put_in(
        group, attack, place, written(attack, group, planted_answer(group.question, seed))
    )


def written(attack: Attack, group: PassageGroup, planted: str) -> tuple[Passage, ...]:
    """Write the passages of an attack on a group; they are the same wherever they are put."""
    return tuple(_passage(text, attack, group, planted) for text in attack.texts)


def put_in(
    group: PassageGroup, attack: Attack, place: AttackPlace | str, added: tuple[Passage, ...]
) -> PassageGroup:
    """Put the passages of an attack at their place, under a name of their own."""
    at = {
        AttackPlace.FIRST: 0,
        AttackPlace.MIDDLE: len(group.passages) // 2,
        AttackPlace.LAST: len(group.passages),
    }
    here = at[AttackPlace(place)]
    passages = (*group.passages[:here], *added, *group.passages[here:])
    name = _SEPARATOR.join((group.id or group.question.id, attack.name, AttackPlace(place)))
    return replace(group, id=name, passages=passages, order=None)


def planted_answer(question: Question, seed: int) -> str:
    """Draw a wrong answer for a question: the other of yes and no, or a made-up name."""
    rng = rng_for(seed, question.id, "planted")
    if question.form is AnswerForm.YES_NO:
        right = polarity(question.answers[0]) if question.answers else rng.random() < 0.5
        return "no" if right else "yes"
    names = rng.sample(_NAMES, len(_NAMES))
    return next((name for name in names if _is_wrong(name, question)), names[0])


def _is_wrong(name: str, question: Question) -> bool:
    """Say whether a made-up name is neither accepted nor part of the question."""
    asked = contains(normalize(question.text), normalize(name))
    return not asked and (not question.answers or grade(name, question) is Grade.WRONG)


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of slots, each once and unread: what a value holds stays as it is.

    >>> filled("Is it @ANSWER@?", {"@ANSWER@": "{0} %s @QUESTION@"})
    'Is it {0} %s @QUESTION@?'
    """
    return "".join(values.get(part, part) for part in _SLOT.split(text))


def _passage(text: str, attack: Attack, group: PassageGroup, planted: str) -> Passage:
    values = {
        QUESTION: group.question.text,
        ANSWER: planted,
        STATES: "" if attack.states is None else str(attack.states),
    }
    if attack.hidden is not None and attack.encoding is not None:
        values[HIDDEN] = ENCODINGS[attack.encoding](filled(attack.hidden, values))
    lies = attack.goal is AttackGoal.ANSWER
    states = () if attack.states is None else (f"{STATED}{attack.states}",)
    return Passage(
        text=filled(text, values),
        kind=PassageKind.COUNTERFACTUAL if lies else PassageKind.IRRELEVANT,
        claim=planted if lies else None,
        provenance=Provenance.GENERATED,
        source=f"{MARK}:{attack.name}",
        flags=(MARK, f"{GOAL}{attack.goal}", *states),
    )
