"""What is said of a table beside its figures: odd rows, columns that tell answers apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.formatting import fixed_percent, span
from novarag.prose import Prose, say
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from novarag.metrics.remarks import TableOddities, TellingColumn

MOST_COLUMNS = 3
"""Columns that are named with their values; of others only the name is said."""

_MOST_VALUES = 5  # of a column, that one sentence names


def oddity_lines(found: TableOddities) -> Iterator[str]:
    """Say each thing that is odd about a table in a sentence or two."""
    if found.near is not None:
        near = found.near
        yield say(
            "{:,} of {:,} questions differ from another by one word alone, and {:,} of {:,} such"
            " pairs have the same confidence and grade, where chance gives about {:.0f}. If they"
            " repeat each other, every interval and promise here is too sure: name the question of"
            " each row by a column of ids (`question`).",
            near.questions,
            near.of,
            near.alike,
            near.pairs,
            near.expected,
        )
    if found.repeats is not None:
        how = (
            f"The same confidences and grades come again after {found.repeats.rows:,} rows"
            if found.repeats.whole
            else f"Confidence and grade repeat in blocks of {found.repeats.rows:,} rows"
        )
        yield say(
            "{}, under other questions. If rows were copied, every interval and promise here is too"
            " sure: name the question of each row by a column of ids (`question`).",
            how,
        )
    if found.leak:
        yield (
            f"All {found.leak:,} confidences are 0 % or 100 % and say the grade itself. Such a"
            " column is made of the grades, not by the system: nothing here is about its"
            " confidence."
        )
    if found.one_sided is not None:
        said = "right" if found.one_sided else "wrong"
        yield say(
            "Every graded answer is {}, and others have no grade. If only {} answers get a grade,"
            " no figure here says how often the system is right: grade answers drawn by chance"
            " (`pick_answers(...)`).",
            said,
            said,
        )


def telling_lines(found: Sequence[TellingColumn], advice: Callable[[str], Prose]) -> list[str]:
    """Name the columns that change the error rate; `advice` says what to do with the first."""
    if not found:
        return []
    first = found[0]
    lines = [
        f"{_said(one)} This is more than chance, corrected for the {_columns(one.looked_at)}."
        for one in found[:MOST_COLUMNS]
    ]
    lines[0] = Prose(f"{lines[0]} ", advice(first.column))
    if more := found[MOST_COLUMNS:]:
        names = ", ".join(repr(plain_text(one.column, longest=60)) for one in more)
        lines.append(f"Other columns that change how often answers are wrong: {names}.")
    return lines


def _columns(count: int) -> str:
    return "one column with few values" if count == 1 else f"{count} columns with few values"


def _said(one: TellingColumn) -> str:
    low, high = one.values[0], one.values[-1]
    ends = span(low.wrong, high.wrong)
    shown = list(one.values)
    if len(shown) > _MOST_VALUES:
        shown = [*shown[: _MOST_VALUES - 1], high]
    parts = ", ".join(
        f"{plain_text(value.name, longest=40) or 'empty'} {fixed_percent(value.wrong)}"
        for value in shown
    )
    left = len(one.values) - len(shown)
    more = f" and {left} more between them" if left else ""
    name = plain_text(one.column, longest=60)
    return f"Answers are wrong {ends} of the time by column {name!r} ({parts}{more})."
