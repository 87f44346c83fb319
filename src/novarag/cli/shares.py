"""Shares on the command line: 10%, 10 % or 0.1."""

from __future__ import annotations

import re

import typer

# A share as it is typed; no more digits than a float needs, and ASCII ones.
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{0,9})?|\.\d{1,9})\s{0,3}(%?)", re.ASCII)


def parse_share(text: str, *, whole: bool = False) -> float:
    """Read a share: 10%, 10 % or 0.1; a bare 10 could be either, and is refused.

    Nothing and all are shares where `whole` says so.

    >>> parse_share("10 %"), parse_share("0.1"), parse_share("100%", whole=True)
    (0.1, 0.1, 1.0)
    """
    found = _SHARE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no share; write 10% or 0.1.")
    value = float(found[1]) / (100 if found[2] else 1)
    if whole and 0 <= value <= 1:
        return value
    if not found[2] and value >= 1:
        raise typer.BadParameter(f"{text.strip()} is over a whole; for percent write {found[1]}%.")
    if not 0 < value < 1:
        raise typer.BadParameter(f"{text.strip()} is not between 0 % and 100 %.")
    return value
