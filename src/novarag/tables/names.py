"""Which column is meant: by its name, another spelling of it, or the last part of a dotted one."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from novarag.tables.unsettled import Setting, Unsettled

if TYPE_CHECKING:
    from collections.abc import Sequence

_LISTED = 20


def find_column(wanted: str, names: Sequence[str]) -> str | tuple[str, ...]:
    """Return the column that is meant, or all that may be.

    >>> find_column("confidence", ["id", "Confidence "]), find_column("up", ["scores.up", "x"])
    ('Confidence ', 'scores.up')
    """
    if wanted in names:
        return wanted
    for spelt in (_spelling, lambda name: _spelling(name.rpartition(".")[2])):
        found = tuple(name for name in names if spelt(name) == _spelling(wanted))
        if found:
            return found[0] if len(found) == 1 else found
    return ()


def _spelling(name: str) -> str:
    return name.strip().casefold().replace("_", " ").replace("-", " ")


def no_column(
    wanted: str, names: Sequence[str], *, parameter: str, fitting: Sequence[str] = ()
) -> Unsettled:
    """Say that there is no such column, or that several may be meant.

    `fitting` names the columns whose values would do; a single one is proposed.
    """
    several = find_column(wanted, names)
    if isinstance(several, tuple) and several:
        settings = tuple(Setting(parameter, name, "") for name in several[:5])
        return Unsettled(wanted, (), "several columns may be meant", settings)
    near = get_close_matches(wanted, names, n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    advice = f"the columns are {listed(names)}"
    why = f"there is no such column{meant}"
    fix = Setting(parameter, "NAME", "")
    if len(fitting) == 1:
        fix = Setting(parameter, fitting[0], "if that says it, as its values do")
    return Unsettled(wanted, (), why, (fix,), advice)


def listed(names: Sequence[str]) -> str:
    """Name columns, up to twenty of them."""
    shown = ", ".join(names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"
