"""Policies that have a question asked again: of whom, and about which of its passages.

A policy here is a function of values. It plans the second asking; whoever holds the models carries
it out, and the gate decides about what comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from novarag.taxonomy import Utility

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from novarag.scoring.answer import Answer


class DatedPassage(Protocol):
    """Whatever says what a passage is, where it comes from, and from when it is."""

    @property
    def text(self) -> str:
        """The passage itself."""

    @property
    def source(self) -> str | None:
        """Where the passage comes from."""

    @property
    def date(self) -> str | None:
        """From when it is, as a text that sorts by time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """What policies are told about a model: its name, its sources by rank, and who else answers."""

    model: str
    sources: tuple[str, ...] = ()
    escalate_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAsking:
    """What a policy goes by: the first answer, the passages as they were given, the settings."""

    answer: Answer
    passages: Sequence[DatedPassage]
    settings: PolicySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondAsking:
    """How a question is asked again, and how that is told in a reason.

    `model` names another model of the settings; None asks the same one. `passages` numbers those
    that are shown; None shows all, and none at all asks for what the model knows by itself.
    """

    told: str
    model: str | None = None
    passages: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondAskingPolicy:
    """A policy: what it plans, what its settings lack, and whose answers it brings.

    `plan` returns None where it cannot ask again, and `otherwise` says why. `find_fault` completes
    the sentence "models.NAME ..." where the settings of a model do not do for this policy.
    `same_passages` says that its answers are about all passages, as those of the first asking are;
    a calibration is fitted on such answers alone.
    """

    plan: Callable[[FirstAsking], SecondAsking | None]
    otherwise: str = "the policy found no other way to ask"
    find_fault: Callable[[PolicySettings], str | None] = lambda _: None
    same_passages: bool = False


def _plan_escalation(first: FirstAsking) -> SecondAsking:
    return SecondAsking(told="another model was asked", model=first.settings.escalate_to)


def _check_escalation(settings: PolicySettings) -> str | None:
    if settings.escalate_to in {None, settings.model}:
        return "escalates, so `escalate_to` must name another model"
    return None


def _plan_closed_book(_: FirstAsking) -> SecondAsking:
    return SecondAsking(told="it was asked again without the passages", passages=())


def _plan_recent(first: FirstAsking) -> SecondAsking | None:
    """Keep the newest of the passages that bear on the question; dates are compared as texts."""
    dated = {i: date for i in _find_bearing(first) if (date := first.passages[i].date)}
    newest = max(dated.values(), default=None)
    return plan_passages(tuple(i for i, date in dated.items() if date == newest))


def _plan_source(first: FirstAsking) -> SecondAsking | None:
    """Keep the passages of the first source, by its rank, that bears on the question."""
    bearing = _find_bearing(first)
    for source in first.settings.sources:
        kept = tuple(i for i in bearing if first.passages[i].source == source)
        if kept:
            return plan_passages(kept)
    return None


def _check_sources(settings: PolicySettings) -> str | None:
    return None if settings.sources else "prefers sources, so `sources` must rank some"


def _find_bearing(first: FirstAsking) -> list[int]:
    """Number the passages that the model judged highly relevant."""
    judged = first.answer.judgments or ()
    return [i for i, word in enumerate(judged) if word is Utility.HIGHLY_RELEVANT]


def plan_passages(kept: tuple[int, ...]) -> SecondAsking | None:
    """Plan to ask about some passages alone; None where there are none.

    Args:
        kept: The numbers of the passages, from 0 on.
    """
    if not kept:
        return None
    numbers = ", ".join(str(i + 1) for i in kept)
    return SecondAsking(told=f"it was asked again with passage {numbers} alone", passages=kept)


NOT_PREFERRED = "no passage can be preferred"
ESCALATION = SecondAskingPolicy(
    plan=_plan_escalation, find_fault=_check_escalation, same_passages=True
)
RECENT_PASSAGES = SecondAskingPolicy(plan=_plan_recent, otherwise=NOT_PREFERRED)
RANKED_SOURCES = SecondAskingPolicy(
    plan=_plan_source, otherwise=NOT_PREFERRED, find_fault=_check_sources
)
WITHOUT_PASSAGES = SecondAskingPolicy(plan=_plan_closed_book)
