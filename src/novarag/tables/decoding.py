"""Bytes as text: marks of byte order, UTF-8, UTF-16, and Windows-1252 where it is none of them."""

from __future__ import annotations

import codecs
from typing import NamedTuple

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16 does, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 4096


class Decoded(NamedTuple):
    """A text, and the encoding that it was in."""

    text: str
    encoding: str


def decode(content: bytes) -> Decoded:
    r"""Decode a text file; ValueError where the bytes are no text.

    >>> decode("85 %;naïve".encode("utf-16")).text, decode(b"na\xefve").encoding
    ('85 %;naïve', 'Windows-1252')
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return Decoded(_strict(content[len(mark) :], name), name.upper().removesuffix("-LE"))
    if wide := _unmarked(content[:_SAMPLE]):
        return Decoded(_strict(content, wide), wide.upper().removesuffix("-LE"))
    if b"\0" in content:
        raise ValueError("it holds bytes that are no text")
    try:
        return Decoded(content.decode("utf-8"), "UTF-8")
    except UnicodeDecodeError:
        return _one_byte(content)


def _strict(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"it begins as {encoding} and goes on otherwise ({error})") from error


def _unmarked(sample: bytes) -> str | None:
    """Know UTF-16 without its mark: every second byte of plain text in it is zero."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if half >= 2 and odd > 0.7 * half and even < 0.1 * half:
        return "utf-16-le"
    if half >= 2 and even > 0.7 * half and odd < 0.1 * half:
        return "utf-16-be"
    return None


def _one_byte(content: bytes) -> Decoded:
    try:
        return Decoded(content.decode("cp1252"), "Windows-1252")
    except UnicodeDecodeError:  # five bytes mean nothing there
        return Decoded(content.decode("latin-1"), "Latin-1")
