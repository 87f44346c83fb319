"""Read the passages out of a reply, line by line, in linear time."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
