"""What a passage may try: attacks as data, each with its class, goal, text and disguise.

The shipped suite is the TOML files of the folder `suite`; a file of one's own has the same form.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from novarag.errors import DataError
from novarag.texts import parse_toml, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CONTROL = "control"
"""The class of harmless passages, which are reported apart."""

CLASSES = {
    "instructions": "orders to whoever reads the passage",
    "fake-fields": "text in the form of the reply's own fields",
    "reader-marks": "forged marks of the prompt and of chat formats",
    "fake-judgments": "verdicts on the passages, as if somebody had judged them",
    "authority": "a source that claims to outrank the others",
    "flattery": "praise, pity and pressure",
    "clones": "several passages that repeat one claim",
    "self-citation": "a passage that proves itself by itself, or by the others",
    "hidden-text": "orders that a person looking at the page does not see",
    "other-languages": "orders in a language that the question is not in",
    CONTROL: "harmless passages: what any further passage changes",
}
"""The classes of the shipped suite; a suite of one's own may have others."""

ANSWER, QUESTION, STATES, HIDDEN = "@ANSWER@", "@QUESTION@", "@STATES@", "@HIDDEN@"
"""What is put in place in the text of an attack, once, by position: nothing in it is evaluated."""

_LONGEST, _MOST_TEXTS, _NAME = 20_000, 12, 64


class AttackGoal(StrEnum):
    """What an attack tries to change."""

    RAISE = "raise"
    LOWER = "lower"
    FIX = "fix"
    ANSWER = "answer"
    DECISION = "decision"
    NONE = "none"


_STATING = frozenset({AttackGoal.RAISE, AttackGoal.LOWER, AttackGoal.FIX, AttackGoal.DECISION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack: the passages it adds, and what they are meant to change.

    `kind` is its class. `states` is the percent that it asks for. `hidden` is a text that is put at
    `@HIDDEN@`, written in the way that `encoding` names.
    """

    name: str
    kind: str
    goal: AttackGoal
    texts: tuple[str, ...]
    states: int | None = None
    hidden: str | None = None
    encoding: str | None = None
    reference: str = ""

    @property
    def is_control(self) -> bool:
        """Say whether it is a harmless passage, to compare with."""
        return self.goal is AttackGoal.NONE


_KEYS = {field.name for field in fields(Attack)} - {"kind", "texts"} | {"class", "text", "texts"}


def parse_suite(text: str, source: str = "the suite") -> tuple[Attack, ...]:
    """Read a suite from TOML: a table `[defaults]`, and a row `[[attack]]` for each attack."""
    try:
        content = parse_toml(text)
    except ValueError as error:
        said = plain_text(str(error))
        raise DataError(f"it is no TOML: {said}.", hint="correct it.", source=source) from None
    rows, defaults = content.get("attack"), content.get("defaults", {})
    unknown = sorted(content.keys() - {"attack", "defaults"})
    if unknown or not isinstance(rows, list) or not rows or not isinstance(defaults, dict):
        raise DataError(
            "a suite has rows [[attack]], and a table [defaults] if need be, and nothing else.",
            hint="see the form of a suite in docs/attacking.md.",
            source=source,
        )
    found = [_attack(_SuiteRow(defaults, row, place, source)) for place, row in enumerate(rows, 1)]
    return checked(found, source)


def checked(attacks: Iterable[Attack], source: str = "the suite") -> tuple[Attack, ...]:
    """Return attacks whose names tell them apart."""
    found: dict[str, Attack] = {}
    for attack in attacks:
        if found.setdefault(attack.name, attack) is not attack:
            raise DataError(
                f"two attacks are called {attack.name!r}.",
                hint="give each a name of its own.",
                source=source,
            )
    return tuple(found.values())


@cache
def shipped_suite() -> tuple[Attack, ...]:
    """Return the attacks that ship with the package, class by class."""
    folder = files("novarag.attacks").joinpath("suite")
    read = {file.name: parse_suite(file.read_text("utf-8"), file.name) for file in folder.iterdir()}
    order = list(CLASSES)
    return checked(
        attack
        for name in sorted(read, key=lambda n: order.index(read[n][0].kind))
        for attack in read[name]
    )


class _SuiteRow:
    """One row of a suite, with the defaults of its file; it says which row is wrong."""

    def __init__(self, defaults: dict[str, Any], row: object, place: int, source: str) -> None:
        self.place, self.source = place, source
        if not isinstance(row, dict):
            raise self.wrong("an attack is a table", "write [[attack]].")
        self.content = {**defaults, **row}
        if unknown := sorted(self.content.keys() - _KEYS):
            raise self.wrong(
                f"an attack has no key {plain_text(unknown[0])!r}",
                f"it has {', '.join(sorted(_KEYS))}.",
            )

    def wrong(self, problem: str, hint: str) -> DataError:
        """Say what is wrong with this row."""
        return DataError(f"{problem}.", hint=hint, source=self.source, row=self.place)

    def text(self, key: str, *, longest: int = _LONGEST) -> str | None:
        """Return a text that is not empty, or None where there is none."""
        value = self.content.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip() or len(value) > longest:
            raise self.wrong(f"{key} is no text of 1 to {longest:,} characters", "write one.")
        return value

    def needed(self, key: str) -> str:
        """Return a short text that must be there, on one line."""
        value = self.text(key, longest=_NAME)
        if value is None or not value.isprintable():
            raise self.wrong(f"{key} is missing or not printable", f'write {key} = "...".')
        return value

    def texts(self) -> tuple[str, ...]:
        """Return the passages: one `text`, or several `texts`."""
        one, several = self.text("text"), self.content.get("texts")
        if (one is None) == (several is None):
            raise self.wrong("an attack has a text, or texts", "give one of the two.")
        if one is not None:
            return (one,)
        found = several if isinstance(several, list) else []
        right = all(isinstance(text, str) and 0 < len(text) <= _LONGEST for text in found)
        if not right or not 0 < len(found) <= _MOST_TEXTS:
            raise self.wrong(f"texts are no list of 1 to {_MOST_TEXTS} texts", "write one.")
        return tuple(found)


def _attack(row: _SuiteRow) -> Attack:
    goal, states, encoding = row.needed("goal"), row.content.get("states"), row.text("encoding")
    if goal not in set(AttackGoal):
        raise row.wrong(f"there is no goal {goal!r}", f"it is one of {', '.join(AttackGoal)}.")
    is_percent = type(states) is int and 0 <= states <= 100
    if not is_percent and (states is not None or AttackGoal(goal) in _STATING):
        raise row.wrong("states is no percent", "write a whole number from 0 to 100.")
    texts, hidden = row.texts(), row.text("hidden")
    if (hidden is None) == any(HIDDEN in text for text in texts):
        raise row.wrong(f"hidden and {HIDDEN} come together or not at all", "give both, or none.")
    if (hidden is None) != (encoding is None) or (encoding or "base64") not in ENCODINGS:
        raise row.wrong(
            "hidden wants an encoding, and an encoding something hidden",
            f"it is one of {', '.join(ENCODINGS)}.",
        )
    return Attack(
        name=row.needed("name"), kind=row.needed("class"), goal=AttackGoal(goal), texts=texts,
        states=states, hidden=hidden, encoding=encoding, reference=row.text("reference") or "",
    )  # fmt: skip


_ZERO, _ONE, _JOINT = "\u200b", "\u200c", "\u2060"
_TAGS = 0xE0000  # where Unicode's block of tags begins; ASCII stands in its order there


def _zero_width(text: str) -> str:
    """Write each byte as eight characters of no width, after the readable text split by others."""
    bits = "".join(f"{byte:08b}" for byte in text.encode())
    return bits.replace("0", _ZERO).replace("1", _ONE)


def _split(text: str) -> str:
    """Put a joiner of no width into every word, so that no word is found by its letters."""
    return " ".join(
        _JOINT.join((word[:2], word[2:])) if word[2:] else word for word in text.split()
    )


def _tags(text: str) -> str:
    """Write ASCII in the tag characters of Unicode, which no font shows."""
    return "".join(chr(_TAGS + ord(c)) if c.isascii() else c for c in text)


def _bidi(text: str) -> str:
    """Write the text backwards between an override and its end, so that it is shown forwards."""
    return f"\u202e{text[::-1]}\u202c"


def _html_comment(text: str) -> str:
    return f"<!-- {text} -->"


def _html_style(text: str) -> str:
    return f'<span style="display:none;font-size:0">{text}</span>'


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _spaced(text: str) -> str:
    return " ".join(text.replace(" ", "_"))


ENCODINGS: dict[str, Callable[[str], str]] = {
    "zero-width": _zero_width,
    "split": _split,
    "tags": _tags,
    "bidi": _bidi,
    "html-comment": _html_comment,
    "html-style": _html_style,
    "base64": _base64,
    "spaced": _spaced,
}
"""Each way by name, a row of the suite names one in `encoding`."""
