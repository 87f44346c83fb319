"""Does a passage really say what its kind promises? One reason when it does not.

A validator never guesses: it compares words. An answer that stands in the question, or is a bare
letter or digit, proves nothing by turning up in a passage, so it is not held against one.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from novarag.grading import contains, is_refusal, polarity, tokens
from novarag.records import AnswerForm
from novarag.taxonomy import PassageKind, Provenance

if TYPE_CHECKING:
    from novarag.records import Passage, Question


class PassageFault(StrEnum):
    """Why a passage is rejected."""

    PLACEHOLDER = "a placeholder stands for the text"
    NO_CLAIM = "it does not say which answer it supports"
    CLAIM_IS_GOLD = "its claim is the gold answer"
    CLAIM_NOT_BINARY = "its claim is neither yes nor no"
    CLAIM_ABSENT = "its claim is not in its text"
    STATES_GOLD = "it states the gold answer beside its claim"
    LEAKS_GOLD = "it contains the gold answer"
    LACKS_GOLD = "it does not contain the gold answer"
    REPEATED = "it repeats another passage"
    TOO_SHORT = "it is far shorter than the gold passage"
    TOO_LONG = "it is far longer than the gold passage"


# What a model copies instead of writing: "[the text]", "Passage 2: <...>".
_SLOT = re.compile(
    r"[ \t*#_\[<(]{0,6}(?:passage|document|text|candidate)?[ \t]{0,2}[0-9]{0,3}"
    r"[:.)\]*_ \t]{0,8}"
    r"(?:[\[<(][^\[\]<>()]{0,120}[\])>])?[ \t.\u2026]{0,6}$",
    re.IGNORECASE | re.ASCII,
)
# "Brent's" and "Brent" are one word.
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_ARTICLES = frozenset({"a", "an", "the"})
_NUMBERS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
)
_LONGEST_SLOT = 200  # characters; what is longer was written by somebody
_STEM = 3  # letters a word keeps at least when it loses its plural
_UNIT = 4  # letters of a unit
_SHORT = 2  # letters that prove nothing by turning up
_CLAIMED = 0.6  # share of a claim's words that its passage must hold


def find_fault(passage: Passage, question: Question) -> PassageFault | None:
    """Return why a passage does not carry its kind; None when nothing speaks against it."""
    if is_placeholder(passage.text):
        return PassageFault.PLACEHOLDER
    match passage.kind:
        case PassageKind.COUNTERFACTUAL:
            return _counterfactual(passage, question)
        case PassageKind.GOLD:
            return _gold(passage, question)
        case PassageKind.RELEVANT | PassageKind.IRRELEVANT:
            text = folded(passage.text)
            leaks = any(contains(text, answer) for answer in _telling(question))
            return PassageFault.LEAKS_GOLD if leaks else None
        case None:
            return None


def is_placeholder(text: str) -> bool:
    """Say whether a text only stands where a passage should be.

    >>> is_placeholder("Passage 3:"), is_placeholder("[Your passage]"), is_placeholder("Rome.")
    (True, True, False)
    """
    said = text.strip()
    return len(said) < _LONGEST_SLOT and _SLOT.match(said) is not None


def _counterfactual(passage: Passage, question: Question) -> PassageFault | None:
    if not passage.claim or not folded(passage.claim):
        return PassageFault.NO_CLAIM
    if question.form is AnswerForm.YES_NO:
        return _against(polarity(passage.claim), question)
    claim, text = folded(passage.claim), folded(passage.text)
    right = [folded(answer) for answer in question.answers]
    if any(contains(answer, claim) for answer in right):
        return PassageFault.CLAIM_IS_GOLD
    if not _holds(text, claim):
        return PassageFault.CLAIM_ABSENT
    stated = any(contains(_without(text, claim, answer), answer) for answer in _telling(question))
    return PassageFault.STATES_GOLD if stated else None


def _without(text: str, claim: str, answer: str) -> str:
    """Blank out a claim that swallows the answer: "1918" in "26 October 1918" is not gold."""
    return f" {text} ".replace(f" {claim} ", " | ") if contains(claim, answer) else text


def _against(claim: bool | None, question: Question) -> PassageFault | None:
    if claim is None:
        return PassageFault.CLAIM_NOT_BINARY
    return PassageFault.CLAIM_IS_GOLD if claim in {polarity(a) for a in question.answers} else None


def _gold(passage: Passage, question: Question) -> PassageFault | None:
    """A generated passage may put the answer in its own words, which are then its claim."""
    own = passage.claim if passage.provenance is Provenance.GENERATED else None
    if own is not None and is_refusal(own):
        own = None
    if question.form is AnswerForm.YES_NO:
        said = None if own is None else polarity(own)
        right = {polarity(answer) for answer in question.answers}
        return PassageFault.LACKS_GOLD if said is not None and said not in right else None
    answers = [folded(answer) for answer in question.answers]
    text, claim = folded(passage.text), folded(own or "")
    if not answers or any(_holds(text, answer) for answer in answers):
        return None
    kin = any(_share(claim, answer) for answer in answers)
    return None if kin and _holds(text, claim) else PassageFault.LACKS_GOLD


def _share(claim: str, answer: str) -> bool:
    """Say whether a wording of an answer has a telling word or number in common with it."""
    words = set(claim.split()) & set(answer.split())
    return any(len(w) > _STEM or w[-1].isdigit() for w in words)


def _telling(question: Question) -> list[str]:
    """List the gold answers that prove something by turning up in a passage."""
    if question.form is AnswerForm.YES_NO:
        return []
    asked = folded(question.text)
    answers = (folded(answer) for answer in question.answers)
    return [answer for answer in answers if _tells(answer) and not contains(asked, answer)]


def _tells(answer: str) -> bool:
    """Say whether an answer proves something by turning up: not a digit, "US", or "four"."""
    longer = len(answer) > (1 if answer.isdigit() else _SHORT)
    return longer and answer not in _NUMBERS


@lru_cache(maxsize=8192)  # a passage is held against many questions that could borrow it
def folded(text: str) -> str:
    """Normalise a text; words lose possessive and plural, and every article goes."""
    words = (w for w in tokens(_POSSESSIVE.sub("", text)) if w not in _ARTICLES)
    return " ".join(w[:-1] if len(w) > _STEM and w[-1] == "s" else w for w in words)


def _holds(text: str, claim: str) -> bool:
    """Say whether a text holds a claim, or its numbers, or most of its words."""
    if contains(text, claim):
        return True
    words, said = claim.split(), set(text.split())
    numbers = [w for w in words if w[-1].isdigit()]
    if numbers:  # a unit may be written otherwise: "45 ha" is "45 hectares"
        long = [w for w in words if len(w) > _UNIT and not w[-1].isdigit()]
        return said.issuperset([*numbers, *long])
    return len(words) > 1 and sum(w in said for w in words) >= _CLAIMED * len(words)
