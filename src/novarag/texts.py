"""Foreign text, made safe to show."""

from __future__ import annotations


def plain_text(text: str, *, longest: int = 200) -> str:
    """Make a foreign text safe to show in one line: no control or direction characters."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def whole(text: str) -> str:
    r"""Replace halves of characters, which JSON can spell and no file can hold.

    >>> whole("a\ud83d")
    'a?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
