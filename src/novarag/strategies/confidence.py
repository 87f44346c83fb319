"""Read one stated confidence. What is not plainly one number is refused, never guessed.

A number may be followed by its sign, by a word that means confidence, and by a reason. A reason
that states another confidence, turns the number round ("that it is wrong") or blurs it ("give or
take") makes it a flaw.
"""

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
    r"[ \t\u00a0]{0,4}\\?(?:[%\uff05]|percent\b|per cent\b|pct\b)", re.IGNORECASE | re.ASCII
)
_RATIO = re.compile(
    r"[ \t]{0,4}\(?(?:/|out of)[ \t]{0,4}([0-9]{1,9})(?![0-9.]{0,30}[0-9])\)?",
    re.IGNORECASE | re.ASCII,
)
_SURE = re.compile(
    r"[ \t*_]{0,4}(?:sure|certain|certainty|confident|confidence|likely|likelihood|probability"
    r"|probable|chance)\b(?:[ \t]{1,3}(?:level|score|rating)\b)?(?:[ \t]{1,3}(?:of|in|that)\b)?",
    re.IGNORECASE | re.ASCII,
)
_REASON = re.compile(
    r"[ \t]{1,4}(?:because|since|as|given|based|due|considering|from|for|with|in (?:this|my|the)"
    r"|I am|I'm|this|the|which|that both|both|all)\b",
    re.IGNORECASE | re.ASCII,
)
_RANGE = re.compile(
    r"[ \t*()\]]{0,6}(?:[-\u2010-\u2015\u2212~\u301c\uff5e\uff0d\u00b1\u2026\u2192\u21d2\u81f3]"
    r"|->|=>|\.{2,3}|to\b|or\b|and\b|up to\b|through\b|bis\b|\+)[ \t*~>]{0,4}\.?[0-9]"
    r"|[ \t]{0,4}(?:\+|or (?:higher|more|less|lower|above|below|so)\b|at (?:least|most)\b)",
    re.IGNORECASE,
)
_BLURRED = re.compile(
    r"\b(?:give or take|plus or minus|minimum|maximum|min|max|at (?:the )?(?:least|most|minimum)"
    r"|lower bound|upper bound|up to|between|range|ish|or (?:so|more|less|higher|lower|above|below)"
    r"|limit|if|unless|margin|scratch that|correction|copied|quoted|as (?:stated|given) (?:in|by)"
    r"|(?:actually|make that|rather|was|now)[ \t,:]{1,3}\.?[0-9]{1,9})\b|\u00b1|\+/-|\+-",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:doubt\w{0,4}|dubious|wrong\w{0,2}|errors?|erroneous|uncertain\w{0,3}|unsure|unlikely"
    r"|unconfident|incorrect\w{0,2}|mistake\w{0,2}|untrue|false"
    r"|(?:not|n't|no|never|lack of|hardly|un|low)[ \t-]{0,3}(?:\w{1,12}[ \t]{1,3})?"
    r"(?:sure|certain\w{0,2}|confiden\w{2}|correct|right|true|likely|trust\w{0,6}))\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"[^.;\n]{0,40}\b(?:not|isn't|is no)\b", re.IGNORECASE)
_SIGNED = re.compile(
    r"([0-9]{1,9}(?:\.[0-9]{1,30})?|\.[0-9]{1,30})[ \t]{0,4}\\?"
    r"(?:[%\uff05\u2030\u2031]|percent\b|per cent\b|pct\b)",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\b(?:passage|document|source|snippet|doc)s?\b", re.IGNORECASE | re.ASCII)
_NEXT_NUMBER = re.compile(r"[^\w\n]{0,12}(?P<number>[0-9]{0,9}\.?[0-9]{1,30})")
_SECOND_NUMBER = re.compile(r"[^0-9\n.]{0,80}[0-9]")
_BLANK = " \u00a0\t"
_DIGITS = frozenset("0123456789")
_STOPS = frozenset(".,;:!|/-\u2013\u2014([<\u3002\uff0c\uff08#\u2022&")
_BOUND = "<>\u2264\u2265"
_SHORT = 32  # characters; longer ones differ from reply to reply, and would fill the memory
_LONGEST = 400
_LISTED = 20


def parse_confidence(text: str, scale: Scale) -> float | Flaw:
    """Turn the text after a confidence label into a number in [0, 1], or say why not.

    >>> parse_confidence("1%", Scale.PERCENT), parse_confidence("9/10", Scale.PERCENT)
    (0.01, 0.9)
    >>> parse_confidence("80-90%", Scale.PERCENT)
    <Flaw.RANGE: 'the confidence is a range'>
    >>> parse_confidence("5% chance of error", Scale.PERCENT)
    <Flaw.DOUBT: 'words beside the confidence turn it round or blur it'>
    """
    return _parse_short(text, scale) if len(text) <= _SHORT else _parse(text[:_LONGEST], scale)


def turns_round(text: str) -> bool:
    """Say whether words beside a confidence make it the chance of being wrong, or a bound."""
    return bool(_TURNED.search(text) or _BLURRED.search(text))


def _parse(text: str, scale: Scale) -> float | Flaw:
    if "~~" in text:
        return Flaw.DOUBT
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
    percent, ratio = _PERCENT.match(rest), _RATIO.match(rest)
    sign = ratio or percent
    tail = rest[sign.end() :] if sign else _point(number) + rest
    if ratio:
        value = _ratio(float(number[0]), int(ratio[1]), tail)
    elif percent:
        value = _bounded(float(number[0]) / 100)
    elif number[0].isdigit() and _is_a_count(rest):
        return Flaw.RANGE if _RANGE.match(rest) else Flaw.AMBIGUOUS
    elif number["part"] == "" and int(number["whole"]) <= _LISTED:
        return Flaw.AMBIGUOUS  # the number of a list, as in "2. Passage 2 agrees"
    else:
        value = _bare(number, scale)
    return value if isinstance(value, Flaw) else _fault_of(tail, value) or value


def _point(number: re.Match[str]) -> str:
    """Return the point at the end of a number, which ends its sentence."""
    return "." if number["part"] == "" else ""


def _fault_of(tail: str, value: float) -> Flaw | None:
    """Refuse what goes on with a range, another number, or words that doubt the first."""
    if _RANGE.match(tail):
        return Flaw.RANGE
    sure = _SURE.match(tail)
    reason = tail[sure.end() :] if sure else tail
    bare = reason.strip(_DRESSING + ">")
    if not bare:
        return None
    if turns_round(tail) or (sure and _NEGATED.match(reason)):
        return Flaw.DOUBT
    if _says_another(reason, value):
        return Flaw.SECOND
    apart = bare[0] in _STOPS or reason[: len(reason) - len(bare)].strip(_BLANK)
    return None if sure or apart or _REASON.match(reason) else Flaw.DOUBT


def _says_another(reason: str, value: float) -> bool:
    """Say whether a reason holds a second confidence that differs from the first."""
    if any(abs(float(m[1]) / 100 - value) > 1e-9 for m in _SIGNED.finditer(reason)):
        return True
    following = _NEXT_NUMBER.match(reason)
    if following is None or following["number"] in {"", "."}:
        return False
    return float(following["number"]) not in {value, round(100 * value, 9)}


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
    head, second = rest[:1], rest[1:2]
    if head.isdigit():
        return Flaw.MALFORMED if head.isascii() else Flaw.DIGITS
    if head.isalpha() and not _PERCENT.match(rest):
        return Flaw.MALFORMED
    if head in {".", ","} and second.isdigit():
        return Flaw.MALFORMED
    if not head.isascii() and second.isdigit() and not _RANGE.match(rest):
        return Flaw.DIGITS
    return None


def _ratio(part: float, whole: int, tail: str) -> float | Flaw:
    """Read "9/10"; refuse what may be odds ("50/50") or a count ("2/3 passages agree")."""
    if whole == 0 or _PERCENT.match(tail):
        return Flaw.MALFORMED
    if _RANGE.match(tail):
        return Flaw.RANGE
    if _COUNTED.search(tail):
        return Flaw.AMBIGUOUS
    if part == whole and whole not in {1, 5, 10, 100}:
        return Flaw.AMBIGUOUS
    if tail.lstrip()[:1].isalpha() and not _SURE.match(tail):
        return Flaw.AMBIGUOUS
    if _SECOND_NUMBER.match(tail):
        return Flaw.AMBIGUOUS
    return _bounded(part / whole)


def _bare(number: re.Match[str], scale: Scale) -> float | Flaw:
    if number[0] == "0.":
        return Flaw.MALFORMED
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
