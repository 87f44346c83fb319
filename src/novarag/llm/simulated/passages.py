"""Passages that a simulated model writes where it is asked for noise.

Most are sound by the same checks as any model's, the others have a fault that these checks find.
All are made of the same few sentences, so that only what they say of the question tells them
apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.grading import polarity
from novarag.llm.simulated.world import made_up_names
from novarag.noise import NOISES, find_fault
from novarag.records import AnswerForm, Passage
from novarag.taxonomy import PassageKind, Provenance

if TYPE_CHECKING:
    from random import Random

    from novarag.noise import NoiseSort
    from novarag.records import Question

# How long the noise prompt wants its passages, and the slots that it leaves for them.
_WANTED = re.compile(r"in about [0-9]{1,9} sentences? and ([0-9]{1,9}) words?")
_SLOT = re.compile(r"^Passage ([0-9]{1,3}): \[the text\]$", re.MULTILINE)
_PROBABILITY = "\nProbability 1: ["
_LONGEST = 2000  # words
_TRIES = 30  # drafts of a passage before one with a fault is taken
_BLANK = "[the text]"  # the slot of the prompt, which weak models copy instead of filling it
# The kind whose answer stands in a passage that is to be at fault: the one it must not hold.
_MISTAKEN = {
    PassageKind.COUNTERFACTUAL: PassageKind.GOLD,
    PassageKind.GOLD: PassageKind.COUNTERFACTUAL,
    PassageKind.RELEVANT: PassageKind.GOLD,
    PassageKind.IRRELEVANT: PassageKind.GOLD,
}
# Numbers of a passage, which a made-up one changes.
_DIGITS = re.compile(r"[0-9]+")

_ASKED = (
    "Readers of the chronicle come back to one question: {asked}?",
    "A short note among the older papers takes up what many wonder: {asked}?",
    "Visitors hear the story from those who live nearby, and ask: {asked}?",
    "An almanac of the period has a page under the heading: {asked}?",
    "Those who keep the archive are asked every summer: {asked}?",
    "The account was copied several times by people who wished to know: {asked}?",
)
_STATED = (
    "The sources agree on {answer} here.",
    "In the oldest copy one reads {answer} quite clearly.",
    "A clerk wrote {answer} beside it.",
    "By common consent it is {answer} and has been for long.",
    "Its margin says {answer} in a steady hand.",
    "Nobody who saw the ledger doubts {answer} any more.",
)
_BESIDE = (
    "The page itself tells more about the weather and the roads.",
    "What follows is a list of repairs, without names.",
    "In the oldest copy one reads of drawings that were never finished.",
    "A clerk wrote down who had borrowed the book.",
    "Its margin says only where to find three other volumes.",
    "Nobody who saw the ledger could make out that line.",
)
_APART = (
    "A sewing machine forms its stitch from an upper and a lower thread.",
    "Curlers sweep the ice before the stone so that it runs farther.",
    "Sourdough rises slowly, since wild yeast is in no hurry.",
    "A beekeeper smokes the hive gently before lifting out a frame.",
    "Good ink was once boiled from oak galls and a little iron.",
    "The bassoon is folded in two, or nobody could reach its keys.",
)
_MORE = (
    "Later hands added remarks in the margin, most of them brief.",
    "Much of what is known comes from letters between two friends.",
    "The wording changed a little whenever it was set in type again.",
    "Nothing in the other papers speaks against it.",
    "A small collection of drawings goes with the text.",
    "It has been read aloud on quiet evenings ever since.",
    "Scholars have spent more time on it than they like to admit.",
    "The paper is thin, and the corners have been mended with care.",
    "An index was promised and never appeared.",
    "Those who kept it took trouble to keep it dry.",
)


@dataclass(frozen=True, slots=True)
class NoiseRequest:
    """What a prompt for noise asks for."""

    noise: NoiseSort
    numbers: tuple[int, ...]
    words: int
    probabilities: bool


def find_wish(prompt: str) -> NoiseRequest | None:
    """Read what a prompt asks to be written; None where it asks for something else."""
    noise = _BY_FIRST_LINE.get(prompt.partition("\n")[0])
    wanted = _WANTED.search(prompt)
    if noise is None or wanted is None:
        return None
    return NoiseRequest(
        noise=noise,
        numbers=tuple(int(number) for number in _SLOT.findall(prompt)),
        words=min(int(wanted[1]), _LONGEST),
        probabilities=_PROBABILITY in prompt,
    )


_BY_FIRST_LINE = {noise.template.pieces[0].partition("\n")[0]: noise for noise in NOISES.values()}


def write_passages(wish: NoiseRequest, question: Question, rng: Random, *, slips: float) -> str:
    """Write the passages of a reply; `slips` is the chance that one has a fault on purpose."""
    lines: list[str] = []
    said: list[str] = []
    for number in wish.numbers:
        write = _faulty if rng.random() < slips else _sound
        passage = write(wish, question, said, rng)
        said.append(passage.text)
        lines.append(f"Passage {number}: {passage.text}")
        if wish.noise.claims:
            lines.append(f"Answer {number}: {passage.claim}")
        if wish.probabilities:
            lines.append(f"Probability {number}: {rng.randint(1, 99) / 100}")
    return "\n".join(lines)


def _sound(wish: NoiseRequest, question: Question, said: list[str], rng: Random) -> Passage:
    """Write a passage that passes the checks, if one of several tries does."""
    kind = wish.noise.kind
    passage = _draft(wish, question, _claim(kind, question, rng), rng)
    for _ in range(_TRIES):
        if passage.text not in said and find_fault(passage, question) is None:
            break
        passage = _draft(wish, question, _claim(kind, question, rng), rng)
    return passage


def _faulty(wish: NoiseRequest, question: Question, said: list[str], rng: Random) -> Passage:
    """Write a passage that the checks reject: of the wrong answer, said before, or left out."""
    misled = _draft(wish, question, _claim(_MISTAKEN[wish.noise.kind], question, rng), rng)
    blank = replace(misled, text=_BLANK)
    faulty = [misled if find_fault(misled, question) else blank, blank]
    faulty += [replace(misled, text=text) for text in said[-1:]]
    return rng.choice(faulty)


def _draft(wish: NoiseRequest, question: Question, claim: str | None, rng: Random) -> Passage:
    return Passage(
        text=_text(wish, question, claim, rng),
        kind=wish.noise.kind,
        claim=claim,
        provenance=Provenance.GENERATED,
    )


def _claim(kind: PassageKind, question: Question, rng: Random) -> str | None:
    """Return the answer that a passage of a kind supports, if it supports one."""
    right = " ".join(question.answers[0].split())
    if kind is PassageKind.GOLD:
        return right
    if kind is not PassageKind.COUNTERFACTUAL:
        return None
    if question.form is AnswerForm.YES_NO:
        return "no" if polarity(right) else "yes"
    if _DIGITS.search(right):  # a year for a year, or its looks would give it away
        return _DIGITS.sub(lambda found: _other_number(found[0], rng), right)
    return rng.choice(list(made_up_names(question)))


def _other_number(digits: str, rng: Random) -> str:
    """Draw a number of as many digits; a long one keeps its first half, as another year does."""
    kept = len(digits) // 2
    return digits[:kept] + "".join(rng.choice("0123456789") for _ in digits[kept:])


def _text(wish: NoiseRequest, question: Question, claim: str | None, rng: Random) -> str:
    asked = " ".join(question.text.split()).rstrip("?")
    if wish.noise.kind is PassageKind.IRRELEVANT and claim is None:
        sentences = rng.sample(_APART, 2)
    else:
        telling = rng.choice(_BESIDE if claim is None else _STATED)
        sentences = [
            rng.choice(_ASKED).replace("{asked}", asked),
            telling.replace("{answer}", claim or ""),
        ]
    more = rng.sample(_MORE, len(_MORE))
    while sum(len(s.split()) for s in sentences) < wish.words:
        sentences.append(more[(len(sentences) - 2) % len(more)])
    return " ".join(sentences)
