"""From the text of a reply to what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.records import Reading
    from novarag.strategies import Labels, Scale, Strategy


def read_reply(
    text: str,
    strategy: str | Strategy | Labels = "nova",
    *,
    k: int | None = None,
    scale: Scale | str | None = None,
) -> Reading:
    r"""Read one reply as a strategy, or a preset for another format, lays it out.

    `k` is the number of passages the prompt showed, if that is known; `scale` says what a bare
    number means: "percent", "hundred" or "unit". `read` does the same where the labels are known.

    >>> reading = read_reply("Paris, 0.9", "guess-probability")
    >>> reading.answer, reading.confidence
    ('Paris', 0.9)
    """
    from novarag.strategies import read
    from novarag.strategies.finding import find_labels

    if not isinstance(text, str):
        raise TypeError(f"text must be the text of a reply, not {type(text).__name__}")
    return read(text, find_labels(strategy, scale), k=k)
