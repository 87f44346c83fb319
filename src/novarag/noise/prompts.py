"""The noise prompts, one for each kind of passage, and the reader of the passages in replies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from novarag.strategies import Template
from novarag.taxonomy import PassageKind, RelevantFacet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from novarag.records import PassageGroup

_SLOTS = frozenset(
    {"question", "answers", "gold", "sentences", "words", "candidates", "format", "diversity"}
)
# The end of a sentence, as it is counted in the gold passage.
_SENTENCE = re.compile(r"[.!?][\"')\]]{0,2}(?=\s|$)")
_USUAL = (3, 60)  # sentences and words, where there is no gold passage to follow
_SHORTEST = 15  # words; a gold passage of five words is no model for a passage

_DIVERSE = (
    "\nDraw the passages from the whole range of what could be written, the unusual as well as the"
    " usual, and give with each the probability that you would have written it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSort:
    """One sort of passage to be written: its prompt, and what the passages then are."""

    name: str
    kind: PassageKind
    facet: RelevantFacet | None = None
    claims: bool = False
    template: Template

    def fill(self, group: PassageGroup, *, candidates: int, verbalised: bool = False) -> str:
        """Render the prompt for a question and its gold passage."""
        gold = next((p.text for p in group.passages if p.kind is PassageKind.GOLD), "")
        sentences, words = length_of(gold)
        return self.template.put(
            {
                "question": _inner(group.question.text),
                "answers": _inner(" or ".join(group.question.answers)),
                "gold": _inner(gold),
                "sentences": _count(sentences, "sentence"),
                "words": _count(words, "word"),
                "candidates": _count(candidates, "passage"),
                "diversity": _DIVERSE if verbalised else "",
                "format": _form(candidates, claims=self.claims, verbalised=verbalised),
            }
        )


def length_of(gold: str) -> tuple[int, int]:
    """Count the sentences and words of a gold passage, within reason.

    >>> length_of("Rome is old. It lies on seven hills, and on the river Tiber, in Latium.")
    (2, 15)
    """
    if not gold.strip():
        return _USUAL
    return max(len(_SENTENCE.findall(gold)), 1), max(len(gold.split()), _SHORTEST)


def _inner(text: str) -> str:
    """Indent every further line, so that only the template can begin one."""
    return "\n  ".join(text.splitlines())


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _form(candidates: int, *, claims: bool, verbalised: bool) -> str:
    lines = []
    for i in range(1, candidates + 1):
        lines.append(f"Passage {i}: [the text]")
        lines += [f"Answer {i}: [the answer it supports]"] if claims else []
        lines += [f"Probability {i}: [from 0 to 1]"] if verbalised else []
    return "\n".join(lines)


def _shipped(name: str) -> Template:
    text = files("novarag.noise").joinpath(f"prompts/{name}.txt").read_text("utf-8")
    return Template(text, slots=_SLOTS)


def _relevant(facet: RelevantFacet) -> NoiseSort:
    name = f"relevant-{facet}"
    return NoiseSort(name=name, kind=PassageKind.RELEVANT, facet=facet, template=_shipped(name))


NOISES: Mapping[str, NoiseSort] = {
    noise.name: noise
    for noise in (
        NoiseSort(
            name="counterfactual",
            kind=PassageKind.COUNTERFACTUAL,
            claims=True,
            template=_shipped("counterfactual"),
        ),
        *(_relevant(facet) for facet in RelevantFacet),
        NoiseSort(name="irrelevant", kind=PassageKind.IRRELEVANT, template=_shipped("irrelevant")),
        NoiseSort(
            name="consistent",
            kind=PassageKind.GOLD,
            claims=True,
            template=_shipped("consistent"),
        ),
    )
}
"""Every noise by name. `consistent` writes further gold passages, in other words."""


def fingerprint(noises: Iterable[NoiseSort], *settings: object) -> str:
    """Return the hash of prompts and settings together."""
    parts = [*(noise.template.hash for noise in noises), *map(str, settings)]
    return sha256("\n".join(parts).encode()).hexdigest()


# A line that begins a part of a reply: "**Passage 2:**", "Wrong answer 1. Lyon"; and the
# probability beside it. Bounded and matched at the beginning of a line only.
_HEAD = re.compile(
    r"[ \t>*#_`\-]{0,8}"
    r"(?P<word>passage|answer|(?:counterfactual|wrong|supported) answer|probability)"
    r"[ \t]{0,2}\[?#?(?P<number>[0-9]{1,3})\]?[ \t*_`]{0,4}"
    r"(?:[:.\uff1a][ \t*_`]{0,4}|[ \t]{0,4}$)",
    re.IGNORECASE | re.ASCII,
)
_SHARE = re.compile(r"[ \t]{0,4}([01]?\.[0-9]{1,9}|[0-9]{1,3})[ \t]{0,2}(%?)", re.ASCII)
_THINKING, _THOUGHT = "<think>", "</think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseCandidate:
    """One passage of a reply, as the model numbered it."""

    number: int
    text: str
    claim: str | None = None
    probability: float | None = None


def read_candidates(reply: str) -> tuple[NoiseCandidate, ...]:
    r"""Return the passages of a reply in their order; a number that comes twice counts once.

    >>> read_candidates("Passage 1: Rome.\nAnswer 1: Rome\n\n**Passage 2:** Bonn.")[0].claim
    'Rome'
    """
    parts: dict[tuple[str, int], list[str]] = {}
    current: list[str] = []
    _, ended, body = reply.rpartition(_THOUGHT)
    if not ended and _THINKING in body:
        return ()  # it never stopped thinking
    for line in body.splitlines():
        head = _HEAD.match(line)
        if head is None:
            if not line.strip() and any(current):
                current = []  # what follows a blank line is chatter
            current.append(line)
            continue
        word = head["word"].lower().rpartition(" ")[2]
        fresh: list[str] = [line[head.end() :]]
        current = parts.setdefault((word, int(head["number"])), fresh)
        if current is not fresh:
            current = []  # said before: the first stands
    numbers = [number for word, number in parts if word == "passage"]
    return tuple(
        NoiseCandidate(
            number=number,
            text=_joined(parts["passage", number]),
            claim=_joined(parts.get(("answer", number), [])[:1]).strip("\"'*_` ") or None,
            probability=_share(_joined(parts.get(("probability", number), []))),
        )
        for number in numbers
    )


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _share(text: str) -> float | None:
    found = _SHARE.match(text)
    if found is None:
        return None
    value = float(found[1]) / (100 if found[2] else 1)
    return value if 0 <= value <= 1 else None
