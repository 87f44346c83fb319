"""Read what a reply says of the passages: one class each, and one word for all of them."""

from __future__ import annotations

import re
from functools import lru_cache

from novarag.taxonomy import EvidenceState, Utility

_ENTRY = re.compile(
    r"[ \t*_`>\-\u2022;,/|]{0,12}(?:[0-9]{1,3}[.)][ \t*_]{1,4}(?=passage|document|doc))?"
    r"(?:(?:passage|document|doc|p)[ \t]{0,2})?(?:\[?(?P<number>[0-9]{1,3})\]?)?"
    r"[ \t.):=*_`\[\"\-\u2013\u2014]{0,8}"
    r"(?P<word>highly[ -]relevant|irrelevant|relevant|(?:hr|ir|r|i)(?=[ \t]{0,3}(?:[^\w \t]|$)))\b"
    r"[ \t*_`.\]\"]{0,6}(?:\([^()\n]{0,400}\))?",
    re.IGNORECASE | re.ASCII,
)
_SECOND = re.compile(r"\b(?:relevant|irrelevant)\b", re.IGNORECASE | re.ASCII)
_REST = re.compile(r"[ \t*_`.;,]{0,64}$")
_WORDS = {
    "highly relevant": Utility.HIGHLY_RELEVANT,
    "highly-relevant": Utility.HIGHLY_RELEVANT,
    "hr": Utility.HIGHLY_RELEVANT,
    "relevant": Utility.RELEVANT,
    "r": Utility.RELEVANT,
    "irrelevant": Utility.IRRELEVANT,
    "ir": Utility.IRRELEVANT,
    "i": Utility.IRRELEVANT,
}
_SHORT = 300  # characters; longer ones have reasons in them, and would fill the memory
_STATE = re.compile(
    r"[ \t*_`\"'\[\u00a0]{0,8}(?P<word>conflicting|consistent|insufficient)\b",
    re.IGNORECASE | re.ASCII,
)


def parse_classes(text: str, k: int | None) -> tuple[Utility, ...] | str:
    """Read exactly k classes, in order, or say what is wrong with them.

    >>> parse_classes("1. Highly Relevant, 2. Irrelevant", 2)
    (<Utility.HIGHLY_RELEVANT: 'highly relevant'>, <Utility.IRRELEVANT: 'irrelevant'>)
    >>> parse_classes("Highly Relevant", 3)
    '1 class for 3 passages'
    """
    return _classes_short(text, k) if len(text) <= _SHORT else _classes(text, k)


def _classes(text: str, k: int | None) -> tuple[Utility, ...] | str:
    lines = [line for line in text.splitlines() if line.strip(" \t*_`-")]
    entries = _across(lines[0]) if len(lines) == 1 else [_down(line) for line in lines]
    if not entries or None in entries:
        return "a passage class could not be read"
    read = [entry for entry in entries if entry]
    if k is not None and len(read) != k:
        return f"{len(read)} class{'' if len(read) == 1 else 'es'} for {k} passages"
    numbers = [int(entry["number"]) for entry in read if entry["number"]]
    if numbers and numbers != list(range(1, len(read) + 1)):
        return "the passage classes are not numbered in order"
    return tuple(_WORDS[entry["word"].lower()] for entry in read)


_classes_short = lru_cache(maxsize=4096)(_classes)  # three words in k places: there are not many


def _down(line: str) -> re.Match[str] | None:
    """Read one class on a line of its own, which may go on with a reason but no other class."""
    entry = _ENTRY.match(line)
    return None if entry and _SECOND.search(line, entry.end()) else entry


def _across(line: str) -> list[re.Match[str] | None]:
    entries: list[re.Match[str] | None] = []
    at = 0
    while not _REST.match(line, at):
        entry = _ENTRY.match(line, at)
        entries.append(entry)
        if entry is None:
            break
        at = entry.end()
    return entries


def parse_state(text: str) -> EvidenceState | None:
    """Read the group judgment, or None when it is none of the three words.

    >>> parse_state("**Conflicting**")
    <EvidenceState.CONFLICTING: 'conflicting'>
    """
    return _state_short(text) if len(text) <= _SHORT else _state(text)


def _state(text: str) -> EvidenceState | None:
    found = _STATE.match(text)
    others = {w for w in EvidenceState if found and w in text[found.end() :].lower()}
    return EvidenceState(found["word"].lower()) if found and not others else None


_state_short = lru_cache(maxsize=256)(_state)
