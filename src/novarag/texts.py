"""Foreign text: read as JSON or TOML, made safe to show, whole, and set in one typography."""

from __future__ import annotations

import json
import re
import tomllib
from functools import reduce
from typing import Any

_ASCII = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"',
        "\u201e": '"', "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u00a0": " ", "\u2009": " ",
        "\u2026": "...", "\u200b": "", "\ufeff": "",
    }
)  # fmt: skip
# A tag of HTML, and not "a < b".
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,80}>")
# Spaces and quotes as tokenised corpora have them, "do n't", "`` so ''", back as people write.
_TYPESET = [
    (re.compile(r"``|''"), '"'),
    (re.compile(r"(?<!\w)[*_]{1,3}(?=[\w\"'])|(?<=[\w.!?,'\")])[*_]{1,3}(?!\w)"), ""),
    (re.compile(r" n't\b"), "n't"),
    (re.compile(r" '(?=(?:s|m|d|re|ve|ll)\b)"), "'"),
    (re.compile(r"(?<=\ws) '(?= \w)"), "'"),
    (re.compile(r" (?=[,.;:!?%)\]])"), ""),
    (re.compile(r"(?<=[(\[$]) "), ""),
    (re.compile(r"(?<=\w) (--?|/) (?=\w)"), r"\1"),
    (re.compile(r'(?<!\S)" ([^"]{1,400}?) "(?!\w)'), r'"\1"'),
    (re.compile(r"--"), "-"),
]
_PASSES = 2  # what one rule joins, an earlier one may have to see
_MARKDOWN = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_{}[]#!|~@"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)
_LINKS = re.compile(r"(?<=[A-Za-z]):(?=\S)")  # what may begin an address
# A sign that would make a list of a line.
_LIST = re.compile(r"^(?=[+-])")


DEEPEST = 100
"""How many lists and objects of JSON may stand in each other; records of ours need six."""

_LONGEST_TOML = 250_000  # characters of a file of settings
_WORD = r"[A-Za-z0-9_-]"
_PART = rf"""(?:{_WORD}++|"(?:[^"\\\n]|\\.){{0,200}}+"|'[^'\n]{{0,200}}+')"""
# Possessive repeats: a key of many parts is found or not in one pass.
_MANY_PARTS = re.compile(rf"(?<!{_WORD})(?:{_PART}[ \t]*+\.[ \t]*+){{{DEEPEST}}}")


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401 - JSON holds anything
    """Read foreign JSON; ValueError where it is none, or nested deeper than anybody writes.

    What is nested a few hundred deep can be read, and then ends whoever writes it down again. A
    key that stands twice in an object with different values is refused: nothing says which of them
    is meant. A mark of byte order before the text is passed over.

    >>> parse_json("\ufeff[1]"), parse_json(b'{"a": true}')
    ([1], {'a': True})
    """
    whole_text = text if isinstance(text, str) else text.decode("utf-8")
    try:
        value = _JSON.decode(whole_text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} deep") from None
    if whole_text.count("[") + whole_text.count("{") > DEEPEST and _depth(value) > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} deep")
    return value


def _settled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values, none of which contradicts another."""
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    for name, value in pairs:
        if type(value) is not type(made[name]) or value != made[name]:
            raise ValueError(f"the key {name[:60]!r} stands twice, with different values")
    return made


_JSON = json.JSONDecoder(object_pairs_hook=_settled)


def parse_toml(text: str) -> dict[str, Any]:
    """Read foreign TOML; ValueError where it is none, or nested deeper than anybody writes.

    A key of many parts is found before it is parsed, which takes the square of their number.
    """
    if len(text) > _LONGEST_TOML:
        raise ValueError(f"over {_LONGEST_TOML:,} characters")
    if _MANY_PARTS.search(text):
        raise ValueError(f"a key of more than {DEEPEST} parts")
    try:
        value = tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} deep") from None
    if _depth(value) > DEEPEST:  # a key of many dots nests without a bracket
        raise ValueError(f"nested more than {DEEPEST} deep")
    return value


def _depth(value: object) -> int:
    """Count how deep lists and objects stand in each other, up to one more than is allowed."""
    depth, level = 0, [value]
    while depth <= DEEPEST:
        held = [one for one in level if isinstance(one, (list, dict))]
        if not held:
            break
        depth += 1
        level = [x for one in held for x in (one.values() if isinstance(one, dict) else one)]
    return depth


def _printable(character: str) -> str:
    return character if character.isprintable() else f"\\u{ord(character):04x}"


def plain_text(text: str, *, longest: int = 200) -> str:
    """Make a foreign text safe to show in one line: no control or direction characters."""
    shown = text if text.isprintable() else "".join(map(_printable, text))
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def escape_markdown(text: str, *, longest: int = 200) -> str:
    r"""Make a foreign text mean nothing to a Markdown renderer, with no escape that it can spare.

    >>> print(escape_markdown("a: +1, http://b"))
    a: +1, http\://b
    """
    shown = plain_text(text, longest=longest).translate(_MARKDOWN)
    return _LIST.sub(r"\\", _LINKS.sub(r"\\:", shown))


def as_code(text: str, *, longest: int = 200) -> str:
    """Show a foreign text as Markdown code, in which no mention, address or tag comes alive.

    Hosts of code look for mentions and addresses after Markdown was rendered, so that an escape
    does not keep them off; code does. What would end it, or a cell of a table, is shown by its
    like.

    >>> print(as_code("@all | `www.a.example`"))
    `@all ¦ 'www.a.example'`
    """
    shown = plain_text(text, longest=longest).replace("`", "'").replace("|", "¦")
    return f"`{shown}`" if shown.strip() else "(no name)"


def replace_halves(text: str) -> str:
    r"""Replace halves of characters, which JSON can spell and no file can hold.

    >>> replace_halves("a\ud83d")
    'a?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def tidy(text: str) -> str:
    r"""Set a passage in one typography, so that its looks do not betray where it comes from.

    Quotes and dashes become plain, tokenised text is joined again, tags and emphasis go, spaces
    are squeezed, and the text ends with a stop.

    >>> print(tidy("It 's the first - ever race ( of three ) , held in `` Rome ''"))
    It's the first-ever race (of three), held in "Rome"
    """
    done = text.translate(_ASCII)
    for _ in range(_PASSES):
        flat = " ".join(_TAG.sub(" ", done).split())
        done = reduce(lambda t, rule: rule[0].sub(rule[1], t), _TYPESET, flat).strip()
    return done if not done or done[-1] in ".!?\"')" else f"{done.rstrip(',;:- ')}."
