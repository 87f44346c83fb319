"""Say whether a reply repeats what a passage says, whatever its dressing.

A confidence is the passage's where the passage states the same value after the same word. What
stands between word and number, how either is marked up, escaped or written, does not matter: values
are compared, not spellings.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from novarag.strategies.markup import ANY_TAG, decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Numbers stay apart, "4 5" is no 45, and all other signs go; then each with what it is out of.
_BETWEEN_NUMBERS = re.compile(r"(?<=[0-9])[^\w.]{1,40}(?=[0-9])")
_DRESSING = re.compile(r"[^\w.|]{1,400}|_")
_NUMBER = re.compile(
    r"(?P<number>\d{1,9}(?:\.\d{1,30})?|(?<!\d)\.\d{1,30})"
    r"(?:[^\w\n]{0,8}?(?:/|\bout[ \t]{1,4}of\b|\bof\b)[^\w\n]{0,4}(?P<whole>\d{1,9}))?"
)
_FILLER = 60  # letters between a label and its number, at most
_WINDOW = 400  # characters that these letters may take
_PLACES = 9  # decimals by which values are compared
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u0578\u0570\u03bf\u03b1\u03b5\u03b9\u03bd\u03c5\u0131",
    "aeopcyxijsdnhoaeivui",
)  # Cyrillic, Armenian and Greek letters that look like Latin ones
_INTERVAL = ("interval", "limit")  # a statistic, and no confidence that anybody states
_LONGEST = 200_000  # characters of a passage that are looked at; its label is found by `find`


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


@lru_cache(maxsize=1024)
def letters(word: str) -> str:
    """Keep the letters of a label, in lower case."""
    return "".join(c for c in normalize("NFKC", word).lower() if c.isalpha())


_ASCII_DRESSING = {code: None for code in range(128) if not chr(code).isalnum()}
# Entities and escapes, in which a passage may hide a label.
_CODED = re.compile(r"&|\\[ux]|%[0-9a-fA-F]{2}")


@lru_cache(maxsize=1024)
def forms_with(passage: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the forms of a passage in which one of these labels may stand: as it is, and decoded.

    None is returned for a passage without any, which is what most are.
    """
    if passage.isascii() and not _CODED.search(passage):
        bare = passage.lower().translate(_ASCII_DRESSING)
        return (passage,) if any(word in bare for word in words) else ()
    plain = decoded(passage)
    return (passage,) if plain == passage else (passage, plain)


@lru_cache(maxsize=1024)
def stated_values(passage: str, words: tuple[str, ...]) -> frozenset[float]:
    """Return the values that a passage states after one of these words.

    >>> sorted(stated_values("Confidence (final, I think): 99.0 %, not .4", ("confidence",)))
    [0.004, 0.4, 0.99]
    """
    found: set[float] = set()
    for form in forms_with(passage, words):
        plain = _plain(form[:_LONGEST])
        for text in dict.fromkeys((plain, ANY_TAG.sub("", plain), ANY_TAG.sub(" ", plain))):
            found.update(_stated(text, words))
    return frozenset(found)


def possible_values(number: re.Match[str]) -> Iterator[float]:
    """Return what a number may mean as a confidence: a percent, a part of one, a ratio."""
    value = float(number["number"])
    yield round(value / 100, _PLACES)
    if value <= 1:
        yield round(value, _PLACES)
    if number["whole"] and (whole := int(number["whole"])):
        yield round(value / whole, _PLACES)
        yield round(whole / 100, _PLACES)


def first_values(text: str) -> frozenset[float]:
    """Return what the first number of a text may mean."""
    number = _NUMBER.search(text)
    return frozenset(possible_values(number)) if number else frozenset()


def is_stated(value: float, values: frozenset[float]) -> bool:
    """Say whether a value is among those that passages state."""
    return bool(values) and round(value, _PLACES) in values


def _plain(text: str) -> str:
    """Write a text in lower case, without characters that nobody sees or can tell from others."""
    if text.isascii():
        return text.lower()
    text = normalize("NFKC", text)
    return "".join([c for c in text if category(c) != "Cf"]).lower().translate(_LOOK_ALIKE)


def _stated(text: str, words: tuple[str, ...]) -> Iterator[float]:
    """Yield the values of the numbers that follow a word, with at most so many letters between."""
    numbers = list(_NUMBER.finditer(text))
    places = [i for i, c in enumerate(text) if c.isalpha()] if numbers else []
    bare = "".join([text[i] for i in places])
    ends = sorted(end for word in words for end in _ends(bare, word))
    for number in numbers:
        before = bisect_left(places, number.start())
        nearest = bisect_right(ends, before) - 1
        if nearest < 0 or before - ends[nearest] > _FILLER:
            continue
        if number.start() - places[ends[nearest] - 1] <= _WINDOW:
            yield from possible_values(number)


def _ends(bare: str, word: str) -> Iterator[int]:
    """Yield where a word ends among the letters of a text."""
    at = bare.find(word)
    while at >= 0:
        end = at + len(word)
        if not bare.startswith(_INTERVAL, end):
            yield end
        at = bare.find(word, end)


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
