"""Read one stated confidence. What is not plainly one number is refused, never guessed."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from novarag.records import Flaw


class Scale(StrEnum):
    """What a bare number means, which is what the prompt asked for: 0%-100%, 0-100 or 0-1."""

    PERCENT = "percent"
    HUNDRED = "hundred"
    UNIT = "unit"


_DRESSING = " \u00a0\u200b\t\r\n*_`\"'[](){}$\\~\u2248"
_HEDGE = re.compile(
    r"(?:about|approximately|approx\.?|around|roughly)[ \t]{1,4}", re.IGNORECASE | re.ASCII
)
_NUMBER = re.compile(r"(?P<whole>[0-9]{1,9})(?:\.(?P<part>[0-9]{0,30}))?|\.(?P<bare>[0-9]{1,30})")
_PERCENT = re.compile(
    r"[ \t]{0,4}\\?(?:[%\uff05]|percent\b|per cent\b|pct\b)", re.IGNORECASE | re.ASCII
)
_RATIO = re.compile(
    r"[ \t]{0,4}\(?(?:/|out of)[ \t]{0,4}([0-9]{1,9})(?![0-9.]{0,30}[0-9])\)?",
    re.IGNORECASE | re.ASCII,
)
_SPREAD = re.compile(
    r"[ \t*(]{0,4}(?:[-\u2010-\u2015\u2212~\u00b1\u2026\u2192]|\.{2,3}|to\b|or\b|and\b|up to\b"
    r"|through\b|\+/?-)[ \t*~]{0,4}\.?[0-9]"
    r"|[ \t]{0,4}(?:or (?:higher|more|less|lower|above|below|so)|at (?:least|most))\b",
    re.IGNORECASE | re.ASCII,
)
_SURE = re.compile(r"[ \t]{0,4}(?:sure|certain|confident|confidence)\b", re.IGNORECASE | re.ASCII)
_SECOND_NUMBER = re.compile(r"[^0-9\n.]{0,80}[0-9]")
_DIGITS = frozenset("0123456789")
_BOUND = "<>\u2264\u2265"
_SHORT = 32  # characters; longer ones differ from reply to reply, and would fill the memory


def parse_confidence(text: str, scale: Scale) -> float | Flaw:
    """Turn the text after a confidence label into a number in [0, 1], or say why not.

    >>> parse_confidence("1%", Scale.PERCENT), parse_confidence("9/10", Scale.PERCENT)
    (0.01, 0.9)
    >>> parse_confidence("80-90%", Scale.PERCENT)
    <Flaw.RANGE: 'the confidence is a range'>
    """
    return _parse_short(text, scale) if len(text) <= _SHORT else _parse(text[:400], scale)


def _parse(text: str, scale: Scale) -> float | Flaw:
    text = _undressed(text)
    number = _NUMBER.match(text)
    if number is None:
        return _not_a_number(text)
    rest = text[number.end() :]
    if rest == "%":
        return _bounded(float(number[0]) / 100)
    return _with_rest(number, rest, scale) if rest else _bare(number, scale)


_parse_short = lru_cache(maxsize=1024)(_parse)  # replies state the same few numbers again and again


def _with_rest(number: re.Match[str], rest: str, scale: Scale) -> float | Flaw:
    """Read a number that something follows: a percent sign, a denominator, a reason, a range."""
    if flaw := _fault_after(rest):
        return flaw
    if ratio := _RATIO.match(rest):
        return _ratio(float(number[0]), int(ratio[1]), rest[ratio.end() :])
    percent = _PERCENT.match(rest)
    tail = rest[percent.end() :] if percent else rest
    if tail.startswith("+") or _SPREAD.match(tail):
        return Flaw.RANGE
    if percent:
        return _bounded(float(number[0]) / 100)
    if number[0].isdigit() and _is_a_count(rest):
        return Flaw.AMBIGUOUS
    return _bare(number, scale)


def _is_a_count(rest: str) -> bool:
    """Say whether a whole number goes on like "2 passages agree: 95%" and may count something."""
    if _SECOND_NUMBER.match(rest):
        return True
    return rest.lstrip(" \t")[:1].isalpha() and not _SURE.match(rest)


def _undressed(text: str) -> str:
    """Take off emphasis, brackets and a hedge such as "about"."""
    text = text.strip(_DRESSING)
    if text[:1] in _DIGITS:
        return text
    if hedge := _HEDGE.match(text):
        text = text[hedge.end() :].lstrip(_DRESSING)
    if text[:1] == "<" and text[-1] == ">":
        text = text[1:-1].strip(_DRESSING)
    return text


def _not_a_number(text: str) -> Flaw:
    if not text:
        return Flaw.NO_CONFIDENCE
    if text[0] in _BOUND:
        return Flaw.RANGE
    if text[0].isdigit():
        return Flaw.DIGITS
    if text[0] in "-\u2212" and text[1:2].isdigit():
        return Flaw.OUT_OF_BOUNDS
    return Flaw.WORDS


def _fault_after(rest: str) -> Flaw | None:
    """Refuse a number that runs on: more digits, a second point, a letter."""
    head = rest[:1]
    if head.isdigit():
        return Flaw.MALFORMED if head.isascii() else Flaw.DIGITS
    if head.isalpha() and not _PERCENT.match(rest):
        return Flaw.MALFORMED
    if head in {".", ","} and rest[1:2].isdigit():
        return Flaw.MALFORMED
    return None


def _ratio(part: float, whole: int, tail: str) -> float | Flaw:
    """Read "9/10"; refuse what may be odds ("50/50") or a count ("2/3 passages agree, 70%")."""
    if whole == 0 or _PERCENT.match(tail):
        return Flaw.MALFORMED
    if _SPREAD.match(tail):
        return Flaw.RANGE
    if _SECOND_NUMBER.match(tail) or (part == whole and whole not in {1, 5, 10, 100}):
        return Flaw.AMBIGUOUS
    return _bounded(part / whole)


def _bare(number: re.Match[str], scale: Scale) -> float | Flaw:
    value = float(number[0])
    written_as_fraction = bool(number["part"] or number["bare"])
    if scale is Scale.UNIT or value == 0:
        return _bounded(value)
    if value > 1:
        return _bounded(value / 100)
    if scale is Scale.PERCENT and written_as_fraction:
        return value
    if scale is Scale.HUNDRED and not written_as_fraction:
        return value / 100
    return Flaw.AMBIGUOUS


def _bounded(value: float) -> float | Flaw:
    return value if value <= 1 else Flaw.OUT_OF_BOUNDS
