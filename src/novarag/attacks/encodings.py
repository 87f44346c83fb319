"""Ways to write a text so that a person who looks at the page does not see it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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
