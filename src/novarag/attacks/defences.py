"""What is set against attacks: each defence is a row that says how a group is asked."""

from __future__ import annotations

from dataclasses import dataclass

from novarag.errors import UnknownNameError


@dataclass(frozen=True, slots=True, kw_only=True)
class Defence:
    """One way to ask: whether labels are framed, replies held to their form, passages screened."""

    name: str
    means: str
    framed: bool = False
    structured: bool = False
    screened: bool = False


DEFENCES = {
    d.name: d
    for d in (
        Defence(name="plain", means="the prompt as it is"),
        Defence(
            name="framed",
            means="labels carry a mark that no passage can know",
            framed=True,
        ),
        Defence(
            name="structured",
            means="the server holds replies to their form",
            structured=True,
        ),
        Defence(
            name="screen",
            means="passages that a rule flags are removed or marked",
            screened=True,
        ),
    )
}
"""Every defence by name."""


def find_defence(name: str) -> Defence:
    """Find a defence by name."""
    if name not in DEFENCES:
        raise UnknownNameError(name, DEFENCES)
    return DEFENCES[name]
