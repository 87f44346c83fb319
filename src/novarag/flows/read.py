"""From the text of a reply to what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.records import Reading
    from novarag.strategies import Labels, NumberScale, Strategy


def read_reply(
    text: str,
    reader: str | Strategy | Labels = "nova",
    *,
    k: int | None = None,
    scale: NumberScale | str | None = None,
) -> Reading:
    r"""Read one reply as a strategy, or a preset for another format, lays it out.

    `read` does the same where the labels are known.

    Args:
        text: The text of the reply.
        reader: The strategy or preset whose reader reads it: its name, the object,
            "package.module:OBJECT", or `Labels`.
        k: Number of passages that the prompt showed, if that is known.
        scale: Whether a bare confidence is a percent or a share: "percent" (0%-100%), "hundred"
            (0-100) or "unit" (0-1); None takes what the strategy asks for.

    >>> reading = read_reply("Paris, 0.9", "guess-probability")
    >>> reading.answer, reading.confidence
    ('Paris', 0.9)
    """
    from novarag.strategies import read
    from novarag.strategies.finding import find_labels

    if not isinstance(text, str):
        raise TypeError(f"text must be the text of a reply, not {type(text).__name__}")
    return read(text, find_labels(reader, scale), k=k)
