"""What is done about an answer, by the state of its evidence, where the gate says no or is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Self

from novarag.scoring.second_asking import (
    ESCALATION,
    RANKED_SOURCES,
    RECENT_PASSAGES,
    WITHOUT_PASSAGES,
    SecondAskingPolicy,
)

if TYPE_CHECKING:
    from novarag.scoring.answer import Answer, Decided


class DecisionMode(StrEnum):
    """When a decision is made: before the user sees anything, or after."""

    ENFORCE = "enforce"
    ANNOTATE = "annotate"


class Action(StrEnum):
    """What is done with an answer that the gate does not let through."""

    # Numbered in databases in this order: a new row goes to the end, and none ever moves.
    ANSWER = "answer"
    ABSTAIN = "abstain"
    CLARIFY = "clarify"
    ESCALATE = "escalate", ESCALATION
    PREFER_RECENT = "prefer-recent", RECENT_PASSAGES
    PREFER_SOURCE = "prefer-source", RANKED_SOURCES
    CLOSED_BOOK = "closed-book", WITHOUT_PASSAGES

    _value_: str
    second_asking: SecondAskingPolicy | None

    def __new__(cls, word: str, second_asking: SecondAskingPolicy | None = None) -> Self:
        """Make an action of its word, and of the policy that asks again where it does not end."""
        action = str.__new__(cls, word)
        action._value_, action.second_asking = word, second_asking
        return action


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
