"""Read one stated confidence. What is not plainly one number is refused, never guessed.

A number may be followed by its sign, by a word that means confidence, by signs of a closed list, by
itself in another form, and by remarks in brackets. A remark that states another number, turns the
number round ("of being wrong") or blurs it ("give or take"), and words of any other kind, make it a
flaw.
"""

from __future__ import annotations

import re
from functools import lru_cache

from novarag.records import TOLERANCE, Flaw, NumberScale
from novarag.strategies.languages import HEDGES, PERCENT
from novarag.strategies.markup import masked

_UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufe0e\ufe0f"
_SPACES = " \t\r\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_SIGNS = (
    "\u2705\u2714\u2713\u2611\U0001f5f8\U0001f44d\U0001f44c\U0001f3af\U0001f642\U0001f60a\U0001f600\U0001f603"
    "\U0001f604\U0001f601\U0001f389\U0001f3c6\u2b50\U0001f31f\u2728\U0001f7e2\U0001f525\U0001f680\U0001f4aa\U0001f947"
    "\U0001f4cc\U0001f4ca\U0001f4c8\U0001f512\u2605\u2606\u25cf\u25a0\u25aa\u25c6\u2022\U0001f3fb-\U0001f3ff\u200d"
)
# What may stand before a number: marks, brackets, and hedges such as "about".
_DRESSING = re.compile(f"[{_SPACES}{_UNSEEN}*_`\"'$\\\\~\u2248{_SIGNS}]{{0,200}}")
_LEAD = re.compile(f"[{_SPACES}{_UNSEEN}*_`\"'\\[\\](){{}}$\\\\~\u2248{_SIGNS}]{{0,200}}")
_HEDGE = re.compile(rf"(?:{HEDGES})[ \t]{{0,4}}(?=\.?[0-9])", re.IGNORECASE)
_HUNDREDTHS = "\u767e\u5206\u4e4b"  # which stands before its number, and means a percent
# The number, its percent sign, and what it is out of: "85", ".85", "85 percent", "8 / 10",
# "8 out of 10". Digits are bounded, as `int` is slow on very long ones.
_NUMBER = re.compile(r"(?P<whole>[0-9]{1,9})(?:\.(?P<part>[0-9]{0,30}))?|\.(?P<bare>[0-9]{1,30})")
_PERCENT = re.compile(
    rf"[{_SPACES}{_UNSEEN}*_]{{0,20}}\\?(?:[%\uff05]|{PERCENT})", re.IGNORECASE | re.ASCII
)
_RATIO = re.compile(
    r"[ \t]{0,4}\(?(?:/|out of)[ \t]{0,4}([0-9]{1,9})(?![0-9.]{0,30}[0-9])\)?",
    re.IGNORECASE | re.ASCII,
)
# Words that only say that the number is a confidence: "85 % sure", "85 % chance that it is
# right"; and the same number once more, "0.85 (or 85 %)", "= 85 %".
_SURE = re.compile(
    r"[ \t*_]{0,4}(?:sure|certain|certainty|confident|confidence|likely|likelihood|probability"
    r"|probable|chance)\b(?:[ \t]{1,3}(?:level|score|rating)\b)?"
    r"(?:[ \t]{1,3}(?:in|of) (?:this|my|the)(?: final)? answer\b"
    r"|[ \t]{1,3}that (?:this|my|the|it)(?: answer)? is (?:correct|right|true)\b)?",
    re.IGNORECASE | re.ASCII,
)
_AGAIN = re.compile(
    rf"[{_SPACES}=/|,;:\u2248\u2013\u2014-]{{1,8}}"
    r"(?:(?:or|i\.e\.|that is|equals|aka)[ \t,:]{1,3})?"
    r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,30})?|\.[0-9]{1,30})",
    re.IGNORECASE,
)
# A remark in brackets behind a number, and what may end a line. Bounded, and without nesting,
# so that neither can try the same signs twice.
_REMARK = re.compile(
    r"\((?P<round>[^()\n]{0,300})\)|\[(?P<square>[^\[\]\n]{0,300})\]|\uff08(?P<wide>[^\uff08\uff09\n]{0,300})\uff09"
)
_END = re.compile(
    rf"[{_SPACES}{_UNSEEN}*_`.!,;|\u3002\uff0c\uff01>)\]}}\"']{{0,40}}(?:</[a-z][\w-]{{0,30}}>[{_SPACES}*_`]{{0,8}}){{0,4}}",
    re.IGNORECASE,
)
_SHOWN = "(?:passages?|documents?|sources?|docs?|snippets?)"
COUNTS = re.compile(
    rf"\b(?:{_SHOWN}|steps?|rules?)[ \t]{{1,2}}#?[0-9]{{1,3}}"
    r"(?:(?:,| and|-)[ \t]?[0-9]{1,3}){0,9}\b"
    r"|\b[0-9]{1,3}[ \t]{0,2}(?:of|out of|/)[ \t]{0,2}(?:the )?[0-9]{1,3}[ \t]{1,2}"
    rf"{_SHOWN}\b"
    rf"|\b[0-9]{{1,3}}[ \t]{{1,2}}{_SHOWN}\b|\b(?:1[0-9]{{3}}|20[0-9]{{2}})\b",
    re.IGNORECASE,
)
"""Numbers in words about passages, which count these or name one of them; and years."""

# "No doubt" holds a word of doubt, and says none.
_UNDOUBTED = re.compile(
    r"\b(?:no|without(?: any)?|free of|zero|not a)[ \t]{1,3}(?:\w{1,12}[ \t]{1,3})?"
    r"(?:errors?|doubts?|mistakes?|uncertainty|contradictions?|conflicts?|guess)\b",
    re.IGNORECASE,
)
# Who states a number because a passage told him to does not state his own.
_ORDERED = re.compile(
    r"\b(?:demand\w{0,3}|instruct\w{0,3}|dictat\w{0,3}|told|orders?|ordered|request\w{0,3}|requir\w{1,3}"
    r"|ignore|not (?:mine|my|me)|draft|lie|as asked|suggest\w{0,3}|claim\w{0,3})\b",
    re.IGNORECASE,
)
# Two ends, "80-90", "80 to 90", or one, "80 or more".
_RANGE = re.compile(
    r"[ \t*()\]]{0,6}(?:[-\u2010-\u2015\u2212~\u301c\uff5e\uff0d\u00b1\u2026\u2192\u21d2\u81f3]"
    r"|->|=>|\.{2,3}|to\b|or\b|and\b|up to\b|through\b|bis\b|\+)[ \t*~>]{0,4}\.?[0-9]"
    r"|[ \t]{0,4}(?:\+|or (?:higher|more|less|lower|above|below|so)\b|at (?:least|most)\b)",
    re.IGNORECASE,
)
# Words that blur a number, "at most 80", "80, if passage 1 is right"; then words that turn it
# round, "80 % wrong", "not 80 % sure".
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
# Another percent in a remark, "90 % (passages), 40 % (own knowledge)"; below it what is
# counted, and numbers that follow.
_SIGNED = re.compile(
    r"([0-9]{1,9}(?:\.[0-9]{1,30})?|\.[0-9]{1,30})[ \t]{0,4}\\?"
    r"(?:[%\uff05\u2030\u2031]|percent\b|per cent\b|pct\b)",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\b(?:passage|document|source|snippet|doc)s?\b", re.IGNORECASE | re.ASCII)
_NEXT_NUMBER = re.compile(r"[^\w\n]{0,12}(?P<number>[0-9]{0,9}\.?[0-9]{1,30})")
_SECOND_NUMBER = re.compile(r"[^0-9\n.]{0,80}[0-9]")
_DIGITS = frozenset("0123456789")
_BOUNDED = re.compile(r"[<>\u2264\u2265\u00b1]|\+/-")  # signs of a bound, as in "(>= 80)"
# A number anywhere in a remark.
_ANY_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,30})?|\.[0-9]{1,30}")
_FEW = 4  # words of a remark in which a number can be nothing but another confidence
_ITEMS = 6  # remarks and repetitions behind a number, at most
_BOUND = "<>\u2264\u2265"
_SHORT = 32  # characters; longer ones differ from reply to reply, and would fill the memory
_LONGEST = 400  # characters behind a label that are looked at
_LISTED = 20  # the greatest number that may count a list


def parse_confidence(text: str, scale: NumberScale) -> float | Flaw:
    """Turn the text after a confidence label into a number in [0, 1], or say why not.

    >>> parse_confidence("1%", NumberScale.PERCENT), parse_confidence("9/10", NumberScale.PERCENT)
    (0.01, 0.9)
    >>> parse_confidence("80-90%", NumberScale.PERCENT)
    <Flaw.RANGE: 'the confidence is a range'>
    >>> parse_confidence("5% chance of error", NumberScale.PERCENT)
    <Flaw.DOUBT: 'words beside the confidence turn it round or blur it'>
    """
    return _parse_short(text, scale) if len(text) <= _SHORT else _parse(text[:_LONGEST], scale)


def turns_round(text: str) -> bool:
    """Say whether words beside a confidence make it the chance of being wrong, or a bound."""
    return bool(_TURNED.search(text) or _BLURRED.search(text))


def _parse(text: str, scale: NumberScale) -> float | Flaw:
    if "~~" in text:
        return Flaw.DOUBT
    text = _undressed(masked(text) if "<" in text else text)
    number = _NUMBER.match(text)
    if number is None:
        return _not_a_number(text)
    rest = text[number.end() :]
    if rest == "%":
        return _bounded(float(number[0]) / 100)
    return _with_rest(number, rest, scale) if rest else _bare(number, scale)


_parse_short = lru_cache(maxsize=1024)(_parse)  # replies state the same few numbers again and again


def _with_rest(number: re.Match[str], rest: str, scale: NumberScale) -> float | Flaw:
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
    """Refuse what goes on with a range, another number, or words.

    After the number there may stand signs of a closed list, a word for confidence, the same number
    again, and remarks in brackets.
    """
    if _RANGE.match(tail):
        return Flaw.RANGE
    if sure := _SURE.match(tail):
        tail = tail[sure.end() :]
    for _ in range(_ITEMS):
        tail = _bare_tail(tail)
        if not tail:
            return None
        taken = _remark(tail, value) or _again(tail, value)
        if isinstance(taken, Flaw):
            return taken
        if not taken:
            break
        tail = tail[taken:]
    return Flaw.SECOND if _says_another(tail, value) else Flaw.DOUBT


def _remark(tail: str, value: float) -> int | Flaw:
    """Return where the remark in brackets ends that a text begins with, or 0; or its fault."""
    remark = _REMARK.match(tail)
    if remark is None:
        return 0
    said = remark["round"] or remark["square"] or remark["wide"] or ""
    return _fault_of_remark(said, value) or remark.end()


def _bare_tail(tail: str) -> str:
    """Take the signs of the closed list off the front of what follows a number, and its stop."""
    start = _DRESSING.match(tail)
    tail = tail[start.end() :] if start else tail
    end = _END.match(tail)
    return "" if end and end.end() == len(tail) else tail


def _again(tail: str, value: float) -> int:
    """Return where the same number ends that a text repeats, or 0."""
    number = _AGAIN.match(tail)
    if number is None:
        return 0
    rest = tail[number.end() :]
    ratio, percent = _RATIO.match(rest), _PERCENT.match(rest)
    stated = float(number["number"])
    if ratio and int(ratio[1]):
        same, after = stated / int(ratio[1]), ratio.end()
    elif percent:
        same, after = stated / 100, percent.end()
    else:
        same, after = (stated if stated <= 1 else stated / 100), 0
    return number.end() + after if abs(same - value) < TOLERANCE else 0


def _fault_of_remark(remark: str, value: float) -> Flaw | None:
    """Refuse a remark that states another number, turns the number round or says who wants it."""
    said = _UNDOUBTED.sub(" ", COUNTS.sub(" ", remark))
    if _RANGE.match(said) or _BOUNDED.search(said):
        return Flaw.RANGE
    if turns_round(said) or _ORDERED.search(said):
        return Flaw.DOUBT
    if said.strip() and _again(" " + said.strip(), value):
        return None
    short = len(said.split()) <= _FEW and _ANY_NUMBER.search(said)
    return Flaw.SECOND if short or _says_another(said, value) else None


def _says_another(reason: str, value: float) -> bool:
    """Say whether a text holds a second confidence that differs from the first."""
    if any(abs(float(m[1]) / 100 - value) > TOLERANCE for m in _SIGNED.finditer(reason)):
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
    """Take off emphasis, brackets, tags and a hedge such as "about"."""
    if text[:1] in _DIGITS:
        return text.rstrip()
    text = text[_lead(text) :].rstrip()
    if text.startswith(_HUNDREDTHS):
        return text.removeprefix(_HUNDREDTHS).strip() + "%"
    if hedge := _HEDGE.match(text):
        text = text[hedge.end() :]
    if text[:1] == "<" and text[-1] == ">":
        text = text[1:-1]
        text = text[_lead(text) :].rstrip()
    return text


def _lead(text: str) -> int:
    lead = _LEAD.match(text)
    return lead.end() if lead else 0


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


def _bare(number: re.Match[str], scale: NumberScale) -> float | Flaw:
    if number[0] == "0.":
        return Flaw.MALFORMED
    value = float(number[0])
    written_as_fraction = bool(number["part"] or number["bare"])
    if scale is NumberScale.UNIT or value == 0:
        return _bounded(value)
    if value > 1:
        return _bounded(value / 100)
    if scale is NumberScale.PERCENT and written_as_fraction:
        return value
    if scale is NumberScale.HUNDRED and not written_as_fraction:
        return value / 100
    return Flaw.AMBIGUOUS


def _bounded(value: float) -> float | Flaw:
    return value if value <= 1 else Flaw.OUT_OF_BOUNDS
