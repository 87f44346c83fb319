"""The forms in which a server may write a key: which texts hold it, as streams to look for.

A form is the whole key in one encoding, and how many characters of it twelve characters of the key
take at least. Any run of that length gives the key away, wherever in the key it lies.
"""

from __future__ import annotations

from base64 import b32encode, b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = 16
"""A key shorter than this is no secret: a dummy such as `EMPTY` stands in ordinary texts."""
RUN = 12
"""So many characters of a secret, one after the other, count as the secret."""
_JOINTS = "-_"  # what stays in a text when it is squeezed, and may stand between characters
_NUMBERS = (("02x", "-"), ("04x", ""), ("d", ""), ("d", "-"), ("03o", ""), ("o", ""), ("08b", ""))


def is_secret(key: str) -> bool:
    """Say whether a key is long enough to be one."""
    return len("".join(key.split())) >= SECRET


def forms(key: str) -> Iterator[tuple[str, int]]:
    """List the encodings of a key, each with the length that counts as the key.

    Plain and backwards; each character as a number (hexadecimal, decimal, octal, binary); base64
    and base32 wherever they begin, also of the key in upper or lower case, or in UTF-16.
    """
    yield key, RUN
    yield key[::-1], RUN
    for joint in _JOINTS:
        yield joint.join(key), 2 * RUN - 1
    yield from _numbers(key)
    yield from _grouped(key.encode("utf-16-le"), 2 * RUN)
    for spelled in {key, key.upper(), key.lower()}:
        yield spelled.encode().hex(), 2 * RUN
        yield from _grouped(spelled.encode(), RUN)


def _numbers(key: str) -> Iterator[tuple[str, int]]:
    for form, joint in _NUMBERS:
        numbers = [format(ord(char), form) for char in key]
        least = RUN * min(map(len, numbers))
        yield joint.join(numbers), least + (RUN - 1) * len(joint)


def _grouped(raw: bytes, size: int) -> Iterator[tuple[str, int]]:
    """Encode bytes in groups of bits, at every place of a group at which they may begin."""
    for encode, bits, places in ((b64encode, 6, 3), (b32encode, 5, 5)):
        for place in range(places):
            text = encode(bytes(place) + raw).decode()
            first, last = -(-8 * place // bits), 8 * (place + len(raw)) // bits
            yield text[first:last], (8 * size - bits + 1) // bits
