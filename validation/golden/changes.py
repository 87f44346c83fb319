"""Changes of bytes on purpose: each with its reason and with how it is compared instead.

An entry that nothing needs makes the run fail, so the list stays honest.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

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


def same_rows(base: bytes | None, head: bytes | None) -> bool:
    """Two tables have the same columns and rows; their types may differ."""
    if base is None or head is None:
        return False
    texts = [as_text(content) or "" for content in (base, head)]
    rows, names = zip(*(_split(text) for text in texts), strict=True)
    return rows[0] == rows[1] and names[0] == names[1]


def _split(text: str) -> tuple[list[str], list[str]]:
    """Part a table's text into its rows and the names of its columns."""
    rows = [line for line in text.splitlines() if line.startswith("{")]
    heads = [line for line in text.splitlines() if not line.startswith("{")]
    return rows, [line.partition(": ")[0] for line in heads]


def digests_alone(base: bytes | None, head: bytes | None) -> bool:
    """Two shard markers are the same once a checksum is only its SHA-256 again."""
    if base is None or head is None:
        return False
    old, new = json.loads(base), json.loads(head)
    content = new.get("content", new)
    content["files"] = {
        name: known["sha256"] if isinstance(known, dict) else known
        for name, known in content["files"].items()
    }
    return old == new


def but_for(key: str) -> How:
    """Two JSON objects are the same but for a key that only the head has."""

    def how(base: bytes | None, head: bytes | None) -> bool:
        if base is None or head is None:
            return False
        old, new = json.loads(base), json.loads(head)
        return new.pop(key, None) is not None and old == new

    return how


_STEADY = frozenset({"position", "length", "typography", "provenance"})
_CUE_LINE = re.compile(r"(\w+(?: \w+)?) {2,}\S.* told in .* points(?= \()")
_AUDIT_WORDS = ("shortcut", "no cue beyond", "no shortcut", "question alone ranks")


def same_cues(base: bytes | None, head: bytes | None) -> bool:
    """Two audits say the same of the cues that are as they were; all other lines are the same."""
    if base is None or head is None:
        return False
    old, new = _audit(base.decode()), _audit(head.decode())
    return old == new and any(line.startswith("position") for line in old)


def _audit(text: str) -> list[str]:
    """Leave out of an audit what is new: cues, intervals, the verdict, and what words it names."""
    if text.startswith("{"):
        told = json.loads(text)
        kept = {key: told[key] for key in ("margin", "groups", "questions", "left_out")}
        return [str(kept)] + [
            f"{f['cue']} {f['kind']} {f['accuracy']} {f['majority']}"
            for f in told["findings"]
            if f["cue"] in _STEADY
        ]
    lines = [line for line in text.splitlines() if not line.startswith(_AUDIT_WORDS)]
    cues = [_CUE_LINE.match(line) for line in lines]
    return [
        cue[0] if cue else line
        for line, cue in zip(lines, cues, strict=True)
        if cue is None or cue[1] in _STEADY
    ]


CHANGES: tuple[Change, ...] = (
    Change(
        "*", "*shards/*.json",
        "a shard's marker holds the size and the CRC-32 of each table, which readers check",
        digests_alone,
    ),
    Change(
        "*", "*estimates.parquet",
        "the row of a trial has one schema: counts are the narrow integers of a run's tables",
        same_rows,
    ),
    Change("*", "*seal.json", "what `filter` keeps is sealed", added),
    Change("*", "*drafts.json", "the passages and pools of noise are sealed", added),
    Change(
        "*", STDOUT,
        "an audit looks at pairs of passages, remainders and the question, with intervals for all"
        " comparisons at once; the base names words of equal weight by the hash of a text",
        same_cues,
    ),
    Change(
        "nova-clean", "*README.md",
        "the card no longer says that looks tell nothing: the auditor sees pairs of passages now",
        replaced((
            "so that a group\ncannot be told from the looks of its passages. Built by"
            " `novarag nova-clean`; nothing in\nit was generated",
            "so that the\nlooks of passages say little about their group; how much they say is in"
            " the table of\nshortcuts, where there is one. Built by `novarag nova-clean`; nothing"
            " in it was\ngenerated",
        )),
    ),
    Change("*", "*card.json", "the data card is sealed, so that `train` can check it", but_for("seal")),
)  # fmt: skip
