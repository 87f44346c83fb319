"""Questions that are put about an answer, once there is one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.records import Flaw, Prompt, Reading
from novarag.strategies.copies import squeeze
from novarag.strategies.forms import classified
from novarag.strategies.table import Strategy
from novarag.strategies.template import Template, shipped

if TYPE_CHECKING:
    from novarag.records import PassageGroup

LONGEST = 1
"""Tokens of a reply: the first one decides, and its alternatives come with it."""

_PROPOSED = "\nProposed answer: "


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """A prompt about a proposed answer; what the reply means is for a method to say."""

    name: str
    template: Template

    def render(self, group: PassageGroup) -> Prompt:
        """Fill the template with a group that `propose` made."""
        return Prompt(
            text=self.template.fill(group), strategy=self.name, template_hash=self.template.hash
        )

    def read(
        self,
        reply: str,  # noqa: ARG002 - as a strategy
        *,
        group: PassageGroup | None = None,  # noqa: ARG002
        truncated: bool = False,  # noqa: ARG002
    ) -> Reading:
        """Find neither an answer nor a flaw: none was asked for."""
        return Reading(spans={})


def propose(group: PassageGroup, answer: str) -> PassageGroup:
    """Put an answer beside the question of a group; in a prompt its line is indented."""
    text = group.question.text + _PROPOSED + " ".join(answer.split())
    return replace(group, question=replace(group.question, text=text))


def proposed(question: str) -> tuple[str, str | None]:
    """Part a question from the answer that was proposed to it, if there is one.

    >>> proposed("Who?" + _PROPOSED + "Ada")
    ('Who?', 'Ada')
    """
    text, mark, answer = question.rpartition(_PROPOSED)
    return (text, answer) if mark else (question, None)


P_TRUE = FollowUp(name="p-true", template=shipped("p-true"))

FOLLOW_UPS = {f.name: f for f in (P_TRUE,)}
"""Every follow-up by name."""

GIVEN_ANSWER = Strategy(name="given-answer", template=shipped("given-answer"), form=classified)
"""Asks for the confidence in an answer that somebody else gave; for a group of `propose`."""


def about_answer(reading: Reading, answer: str) -> Reading:
    """Return what a reply to `GIVEN_ANSWER` says of the answer; one about another says nothing.

    >>> about_answer(Reading(answer="Ada L.", confidence=0.7, spans={}), "ada l").answer
    'ada l'
    """
    if reading.answer is None or squeeze(reading.answer) == squeeze(answer):
        return replace(reading, answer=reading.answer and answer)
    return replace(reading, flaw=reading.flaw or Flaw.DISAGREE)
