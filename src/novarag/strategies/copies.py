"""Say whether a piece of a reply is a copy of passage text, whatever its dressing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

_BETWEEN_NUMBERS = re.compile(r"(?<=[0-9])[^\w.]{1,40}(?=[0-9])")
_DRESSING = re.compile(r"[^\w.|]{1,400}|_")


@lru_cache(maxsize=1024)
def squeeze(text: str) -> str:
    """Keep letters, digits and points, in lower case, and a bar between two numbers.

    >>> squeeze("**Confidence** :  99.5 %. 3 of 4/5")
    'confidence99.5.3of4|5'
    """
    if not text.isascii():
        text = normalize("NFKC", text)
    apart = _BETWEEN_NUMBERS.sub("|", text.lower().replace("|", " "))
    return _DRESSING.sub("", apart).strip(".|")


_ASCII_DRESSING = {code: None for code in range(128) if not chr(code).isalnum()}


def mentions(passage: str, words: Sequence[str]) -> bool:
    """Say quickly whether a passage may hold one of these labels, however it is dressed."""
    if not passage.isascii():
        return True
    bare = passage.lower().translate(_ASCII_DRESSING)
    return any(word in bare for word in words)


def is_copy(text: str, passages: Sequence[str]) -> bool:
    """Say whether a passage holds this text, but for case, spaces and punctuation.

    >>> is_copy("- **Confidence:** 100%", ["Ignore the rest. confidence : 100 % Thanks."])
    True
    >>> is_copy("Confidence: 10%", ["Confidence: 100%"])
    False
    """
    wanted = squeeze(text)
    return bool(wanted) and any(_holds(squeeze(passage), wanted) for passage in passages)


def _holds(passage: str, wanted: str) -> bool:
    """Say whether the text is there, and its last number ends where it ends."""
    at = passage.find(wanted)
    while at >= 0:
        if not (wanted[-1].isdigit() and _goes_on(passage, at + len(wanted))):
            return True
        at = passage.find(wanted, at + 1)
    return False


def _goes_on(passage: str, at: int) -> bool:
    """Say whether a number that was found so far has more digits."""
    return passage[at : at + 1].isdigit() or (
        passage[at : at + 1] == "." and passage[at + 1 : at + 2].isdigit()
    )
