"""What is done about an answer, by the state of its evidence, where the gate says no or is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from novarag.scoring.answer import Answer, Decided


class Action(StrEnum):
    """What is done with an answer that the gate does not let through."""

    ANSWER = "answer"
    ABSTAIN = "abstain"
    CLARIFY = "clarify"
    ESCALATE = "escalate"
    PREFER_RECENT = "prefer-recent"
    PREFER_SOURCE = "prefer-source"
    CLOSED_BOOK = "closed-book"


FINAL = frozenset({Action.ANSWER, Action.ABSTAIN, Action.CLARIFY})
"""Actions that end with the answer at hand; the others ask once more."""


@dataclass(frozen=True)
class Policy:
    """What is done, by the state of the evidence, where the gate says no or there is none."""

    consistent: Action = Action.ANSWER
    conflicting: Action = Action.ANSWER
    insufficient: Action = Action.ANSWER
    unjudged: Action = Action.ANSWER
    unread: Action = Action.ABSTAIN

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # for settings files: no unknown keys


def rule(answer: Answer, policy: Policy) -> Answer:
    """Say what is done: the answer where the gate lets it through, else what the policy says.

    The reason names whatever decided: the gate, or the policy with the evidence it goes by.
    """
    if answer.answer is None:
        why = f"{answer.reason}; the policy for replies that cannot be read is {policy.unread}"
        return settle(answer, policy.unread, why)
    if answer.decision == "answer":
        return settle(answer, Action.ANSWER, answer.reason)
    state = answer.evidence
    action: Action = policy.unjudged if state is None else getattr(policy, state)
    found = "was not judged" if state is None else f"is {state}"
    why = f"the evidence {found}, and the policy for that is {action}"
    if answer.decision is None:
        return settle(answer, action, f"{why}; there is no gate")
    if action is Action.ANSWER:
        return settle(answer, Action.ABSTAIN, f"{answer.reason}; no policy overrules the gate")
    return settle(answer, action, f"{answer.reason}; {why}")


def settle(answer: Answer, action: Action, reason: str) -> Answer:
    """Return the answer with an action, the decision that follows from it, and why."""
    decision: Decided = "abstain"
    if action is Action.CLARIFY:
        decision = "clarify"
    elif action is Action.ANSWER and answer.answer is not None:
        decision = "answer"
    return replace(answer, decision=decision, action=action, reason=reason)
