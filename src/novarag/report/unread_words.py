"""Rows that figures leave out, said alike by `measure`, `calibrate` and `gate`.

There are two kinds: replies that could not be read, graded or not, and answers that were read and
that nobody graded. A reply of the first kind says something of the answers only if it has a grade.
"""

from __future__ import annotations


def graded_text(unread: int, graded: int) -> str:
    """Say how many unread replies have a grade, where not all of them have.

    >>> graded_text(807, 213), graded_text(5, 5), graded_text(1, 0)
    (' 213 of them have a grade.', '', ' It has no grade.')
    """
    if graded == unread:
        return ""
    if graded:
        return f" {graded:,} of them {'has' if graded == 1 else 'have'} a grade."
    return " It has no grade." if unread == 1 else " None of them has a grade."


def ungraded_text(count: int) -> str:
    """Say that answers were read and are in no figure.

    >>> ungraded_text(391)
    '391 answers were read but not graded, and are in no figure.'
    """
    if count == 1:
        return "1 answer was read but not graded, and is in no figure."
    return f"{count:,} answers were read but not graded, and are in no figure."
