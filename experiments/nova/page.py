"""The tables of the proof as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

_ORDER = ("all", "k", "kind", "against", "against base", "against calibration")


def page(facts: Mapping[str, Any], wanted: Sequence[str], on_dev: Sequence[str]) -> str:
    """Write all tables; that of dev questions has more columns."""
    lines = [f"{facts['machine']}.", "", "Questions by split (`new`: in no split above):", ""]
    lines += plainly(facts["budget"])
    lines += ["", f"First test request: {facts['first test request']}. Choices before it:", ""]
    lines += [
        f"- {c['time']}: {c['what']} is {c['chosen']}; {c['figures']}" for c in facts["choices"]
    ]
    for title, name in (
        ("Right answers with gold among three passages", "reader"),
        ("Confidences of the training examples", "examples"), ("What each system costs", "costs"),
        ("Lower Brier score than the base's `vanilla`, by what it took", "worth"),
    ):  # fmt: skip
        if facts.get(name):
            lines += ["", f"## {title}", "", *plainly(facts[name])]
    lines += ["", "## dev", "", *rows(facts["dev"], "all", [*wanted, *on_dev])]
    if facts.get("draws"):
        lines += ["", "Share of right short draws as the confidence of `nova`'s answers:", ""]
        lines += rows([facts["draws"]], "all", wanted)
    for part, found in facts["test"].items():
        for name in (n for n in _ORDER if n in found):
            lines += ["", f"## test, {part}, {name}", "", *rows(found[name], name, wanted)]
    return "\n".join(lines) + "\n"


def plainly(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Write records as they are."""
    head = list(found[0]) if found else []
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for row in found:
        yield "| " + " | ".join(_cell(value) for value in row.values()) + " |"


def _cell(value: object) -> str:
    if value is None or isinstance(value, dict):
        return shown(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def rows(panels: Sequence[Mapping[str, Any]], part: str, wanted: Iterable[str]) -> Iterator[str]:
    """Write one table of figures with intervals."""
    there = [m for m in ("read", *wanted) if any(m in row for row in panels)]
    first = ["system", "against"] if part.startswith("against") else ["system", "rows"]
    head = [part, *first] if part in {"k", "kind"} else first
    yield "| " + " | ".join([*head, *there]) + " |"
    yield "|---" * (len(head) + len(there)) + "|"
    for row in panels:
        cells = [str(row[name]) for name in head]
        yield "| " + " | ".join([*cells, *(shown(row.get(metric)) for metric in there)]) + " |"


def shown(found: Mapping[str, float | None] | None) -> str:
    """Write a figure with its interval.

    >>> shown({"value": 0.5, "low": 0.25, "high": 0.75})
    '0.500 (0.250 to 0.750)'
    """
    if found is None or found["value"] is None or found["value"] != found["value"]:
        return "–"
    if found["low"] is None:
        return f"{found['value']:.3f}"
    return f"{found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f})"
