"""Changes of bytes on purpose: each with its reason and with how it is compared instead.

An entry that nothing needs makes the run fail, so the list stays honest.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from validation.golden.masking import STDOUT, as_text

if TYPE_CHECKING:
    from collections.abc import Callable

    How = Callable[[bytes | None, bytes | None], bool]


@dataclass(frozen=True)
class Change:
    """Files of some commands that differ on purpose, and what must hold of them all the same.

    `command` and `file` are patterns; standard output is `<stdout>`. `how` gets what the base and
    the head have (None: no such file), masked, and says whether that is as it should be.
    """

    command: str
    file: str
    reason: str
    how: How

    def covers(self, command: str, file: str) -> bool:
        """Say whether the change belongs to a file of a command."""
        return fnmatch(command, self.command) and fnmatch(file, self.file)


def added(base: bytes | None, head: bytes | None) -> bool:
    """The file is new."""
    return base is None and head is not None


def removed(base: bytes | None, head: bytes | None) -> bool:
    """The file is gone."""
    return base is not None and head is None


def replaced(*pairs: tuple[str, str]) -> How:
    """The base's text, with some texts replaced, is the head's."""

    def how(base: bytes | None, head: bytes | None) -> bool:
        if base is None or head is None or (text := as_text(base)) is None:
            return False
        for old, new in pairs:
            text = text.replace(old, new)
        return text == as_text(head)

    return how


def but_for(key: str) -> How:
    """Two JSON objects are the same but for a key that only the head has."""

    def how(base: bytes | None, head: bytes | None) -> bool:
        if base is None or head is None:
            return False
        old, new = json.loads(base), json.loads(head)
        return new.pop(key, None) is not None and old == new

    return how


def to_the_last_bits(base: bytes | None, head: bytes | None) -> bool:
    """Numbers that both have are the same but for rounding; the head may say more."""
    if base is None or head is None:
        return False
    return _near(json.loads(base), json.loads(head))


def _near(old: object, new: object) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return all(name in new and _near(old[name], new[name]) for name in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_near, old, new))
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-12)
    return old == new


def as_answer_object(base: bytes | None, head: bytes | None) -> bool:
    """The same answers, with judgments at their passages, and the version of the object."""
    if base is None or head is None:
        return False
    return all(map(_as_answer_object, json.loads(base), json.loads(head)))


def _as_answer_object(old: dict[str, Any], new: dict[str, Any]) -> bool:
    judged = old.pop("judgments") or [None] * len(new["passages"])
    if (new.pop("version"), new.pop("action")) != (1, None):
        return False
    return judged == [one["judgment"] for one in new.pop("passages")] and _near(old, new)


def but_for_the_readme(base: bytes | None, head: bytes | None) -> bool:
    """The same data card, but for the size and the digests of a page that names verbs."""
    if base is None or head is None:
        return False
    return _without_readme(json.loads(base)) == _without_readme(json.loads(head))


def _without_readme(card: dict[str, Any]) -> dict[str, Any]:
    files = [one for one in card["files"] if one["name"] != "README.md"]
    return {name: value for name, value in card.items() if name != "seal"} | {"files": files}


CHANGES: tuple[Change, ...] = (
    Change(
        "*",
        "*card.json",
        "a data card holds the digest of its README.md, which names verbs by their new names",
        but_for_the_readme,
    ),
    Change(
        "answer-json",
        STDOUT,
        "`answer --json` lays an answer out as the gateway and the adapters do",
        as_answer_object,
    ),
)
