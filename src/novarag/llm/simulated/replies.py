"""What is said: replies in the form that a prompt asks for, cut into tokens."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from novarag.taxonomy import EvidenceState, Rule, Utility

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from novarag.llm.simulated.respondent import AnswerProspect

_GUESSES = 4  # as many as the prompt of top-k asks for
# A word with the blanks before it, as tokens have them.
_TOKEN = re.compile(r"(?<!\s)\s*\S+")
PLAIN = -0.001
"""Log-probability of a token that could hardly have been another."""

_NUMBER = math.log(0.5)  # and of a stated percent


_OTHERS = {u: tuple(other for other in Utility if other is not u) for u in Utility}
_WORDS = {word: word.title() for word in (*Utility, *EvidenceState, *Rule)}


class ReplyForm(StrEnum):
    """What a reply looks like."""

    SHORT = "answer and confidence"
    REASONED = "reasoning first"
    STEPS = "a confidence for every step"
    JUDGED = "passages judged first"
    GUESSES = "several guesses first"


_MARKS = (
    ("\nGroup Judgment: [", ReplyForm.JUDGED),
    ("\nGuess 1: [", ReplyForm.GUESSES),
    ("\nStep 1 Confidence: [", ReplyForm.STEPS),
    ("\nReason step by step", ReplyForm.REASONED),
    ("\nGo through the passages", ReplyForm.REASONED),
    ("\nTask: Analyze step by step", ReplyForm.REASONED),
    ("\nTask: Think step by step", ReplyForm.REASONED),
    ("\nAnswer:", ReplyForm.SHORT),
    ("\nFinal Answer:", ReplyForm.SHORT),
)


def find_form(prompt: str) -> ReplyForm | None:
    """Find the form that a prompt asks for; None where it asks for no answer.

    Only a template can begin a line with these words: lines of passages are indented.
    """
    return next((form for mark, form in _MARKS if mark in prompt), None)


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """A stretch of a reply, and the log-probability of its first token."""

    text: str
    logprob: float = PLAIN


def verdict(prospect: AnswerProspect, place: int, percent: int, *, final: bool) -> list[ReplyPiece]:
    """Say an answer and a confidence on two lines."""
    return [
        ReplyPiece("Final Answer:" if final else "Answer:"),
        ReplyPiece(f" {prospect.answers[place]}", math.log(prospect.weights[place])),
        ReplyPiece("\nConfidence:"),
        ReplyPiece(f" {percent}%", _NUMBER),
    ]


def stepwise(prospect: AnswerProspect, place: int, percent: int) -> list[ReplyPiece]:
    """Say a confidence for each of two steps, whose product is the percent, then the answer."""
    product = 100 * percent
    least = max(1, math.isqrt(product))
    first = next(f for f in range(least, 101) if product % f == 0 and product // f <= 100)
    return [
        ReplyPiece("Step 1: I look at what the passages say.\nStep 2: I settle on an answer.\n"),
        ReplyPiece("Final Output:\nStep 1 Confidence:"),
        ReplyPiece(f" {first}%", _NUMBER),
        ReplyPiece("\nStep 2 Confidence:"),
        ReplyPiece(f" {product // first}%", _NUMBER),
        ReplyPiece("\nAnswer:"),
        ReplyPiece(f" {prospect.answers[place]}", math.log(prospect.weights[place])),
    ]


def guesses(prospect: AnswerProspect, percents: Sequence[int]) -> ReplyPiece:
    """Name the answers by falling weight, each with the percent stated for it, and four in all."""
    named = [f"{a} ({p}%)" for a, p in zip(prospect.answers, percents, strict=True)]
    named += ["none (0%)"] * (_GUESSES - len(named))
    return ReplyPiece("".join([f"Guess {i}: {one}\n" for i, one in enumerate(named, start=1)]))


def reasons(k: int) -> ReplyPiece:
    """Say something before the answer."""
    basis = f"the {k} passages and what I know" if k else "what I know"
    return ReplyPiece(f"Simulated reasoning; I weigh {basis}.\n")


def judge(truth: Sequence[Utility], skill: float, rng: Random) -> list[Utility]:
    """Name a class for every passage, each rightly by the same chance."""
    return [u if rng.random() < skill else rng.choice(_OTHERS[u]) for u in truth]


def judged(said: Sequence[Utility], state: EvidenceState | None, rule: Rule | None) -> ReplyPiece:
    """Say the class of each passage, a rule step and the state that follows from the classes."""
    words = [_WORDS[u] for u in said]
    steps = [f"Step {i}: Passage {i} is {word}." for i, word in enumerate(words, start=1)]
    strong = sum(u is Utility.HIGHLY_RELEVANT for u in said)
    found = EvidenceState.CONSISTENT if strong else EvidenceState.INSUFFICIENT
    if strong > 1 and state in {EvidenceState.CONFLICTING, None}:
        found = EvidenceState.CONFLICTING
    classes = "; ".join(f"Passage {i}: {word}" for i, word in enumerate(words, start=1))
    named = "no rule" if rule is None else _WORDS[rule]
    return ReplyPiece(
        "\n".join(
            [
                *steps,
                f"Step {len(steps) + 1}: The simulated rules say {found}, under {named}.",
                f"Passage Classifications: {classes}",
                f"Group Judgment: {_WORDS[found]}\n",
            ]
        )
    )


def cut(pieces: Sequence[ReplyPiece]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Cut a reply into words with the space before them, and give each its log-probability."""
    tokens: list[str] = []
    logprobs: list[float] = []
    carried = ""
    for piece in pieces:
        text = carried + piece.text
        body = text.rstrip()
        carried = text[len(body) :]
        words = _TOKEN.findall(body)
        tokens += words
        logprobs += [piece.logprob, *[PLAIN] * (len(words) - 1)][: len(words)]
    return tuple(tokens), tuple(logprobs)


def first_tokens(true: float) -> tuple[tuple[str, float], ...]:
    """Return what the first word of a verdict could have been, by falling probability.

    Most of the chance is on the two words themselves, some on other ways to write them.
    """
    true = min(0.9999, max(0.0001, true))
    spellings = (("", 0.9), (" ", 0.06))
    found = [
        (space + word, share * chance)
        for word, chance in (("True", true), ("False", 1 - true))
        for space, share in spellings
    ]
    found += [("true", 0.03 * true), ("false", 0.03 * (1 - true)), ("The", 0.01)]
    found.sort(key=lambda pair: -pair[1])
    return tuple((word, math.log(chance)) for word, chance in found)
