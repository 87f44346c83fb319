"""Markup and escapes: tags that only dress a text, and characters that are written as codes."""

from __future__ import annotations

import re
from html import unescape

# Tags that only dress a text; others may be labels of a format, and are left to its reader.
_DRESSING = (
    "b|strong|i|em|u|span|font|mark|small|big|sup|sub|center|tt|kbd|samp|var|label|bdi|bdo|a"
)
_BLOCKS = "p|br|hr|div|li|ul|ol|dl|dt|dd|h[1-6]|section|table|tbody|thead|tr|td|th|html|body"
_TAG = re.compile(
    rf"</?(?:(?P<block>{_BLOCKS})|{_DRESSING})(?:[ \t/][^<>\n]{{0,120}})?>", re.IGNORECASE
)
ANY_TAG = re.compile(r"</?[a-zA-Z!][^<>\n]{0,120}>")
"""A tag of whatever name."""

_EDGE_TAGS = re.compile(
    rf"(?:[ \t*_]{{0,8}}{_TAG.pattern.replace('?P<block>', '?:')}){{1,8}}", re.IGNORECASE
)
# Characters written as codes: \u0041, \u{41}, \x41 and %41.
_CODES = re.compile(r"\\u(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\})|(?:\\x|%)([0-9a-fA-F]{2})")
_BESIDE = " \t*_\r\n"  # what may stand between tags at the end of a text
_ROUNDS = 3  # escapes of escapes that are undone


def masked(text: str) -> str:
    r"""Write tags that only dress a text as emphasis, and those of blocks as a break, in place.

    Every other character stays where it was.

    >>> masked("<b>Answer:</b> x<br>Confidence: 90%")
    '***Answer:**** x\n***Confidence: 90%'
    """
    return _TAG.sub(_mask, text) if "<" in text else text


def _mask(tag: re.Match[str]) -> str:
    stars = "*" * len(tag[0])
    if not tag["block"]:
        return stars
    beside = (
        tag.string[tag.end() : tag.end() + 1],
        tag.string[max(0, tag.start() - 1) : tag.start()],
    )
    return stars if "\n" in beside or "" in beside else "\n" + stars[1:]


def without_edges(text: str) -> str:
    """Take tags of dressing off both ends of a text, and the spaces and stars beside them."""
    if "<" not in text:
        return text
    first = _EDGE_TAGS.match(text)
    start = first.end() if first else 0
    run, after = len(text), -1  # where the last tags with nothing between them begin and end
    for tag in _TAG.finditer(text, start):
        if after < 0 or text[after : tag.start()].strip(_BESIDE):
            run = tag.start()
        after = tag.end()
    ends_so = after >= 0 and not text[after:].strip(_BESIDE)
    return text[start : run if ends_so else len(text)]


def decoded(text: str) -> str:
    r"""Write codes of characters as what they stand for: of JSON, of HTML, of addresses.

    >>> decoded(r"\u0043onfidence&#58; 9%30")
    'Confidence: 90'
    """
    for _ in range(_ROUNDS):
        plain = unescape(text) if "&" in text else text
        if "\\" in plain or "%" in plain:
            plain = _CODES.sub(_character, plain)
        if plain == text:
            break
        text = plain
    return text


def _character(code: re.Match[str]) -> str:
    number = int(code[1] or code[2] or code[3], 16)
    return chr(number) if number <= 0x10FFFF else code[0]
