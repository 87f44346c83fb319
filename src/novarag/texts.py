"""Foreign text, made safe to show."""

from __future__ import annotations

_MARKDOWN = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_{}[]#+!|~:@"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def plain_text(text: str, *, longest: int = 200) -> str:
    """Make a foreign text safe to show in one line: no control or direction characters."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def escape_markdown(text: str, *, longest: int = 200) -> str:
    """Make a foreign text mean nothing to a Markdown renderer."""
    return plain_text(text, longest=longest).translate(_MARKDOWN)


def whole(text: str) -> str:
    r"""Replace halves of characters, which JSON can spell and no file can hold.

    >>> whole("a\ud83d")
    'a?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
