"""A page on attacks: what they change under each defence, and the most successful of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from novarag.atomic import write_whole
from novarag.attacks.defences import DEFENCES
from novarag.attacks.outcomes import PARTS
from novarag.attacks.result import defence_line, said
from novarag.attacks.success import FEW, DefenceStanding
from novarag.attacks.suite import CLASSES
from novarag.formatting import hundredths, percent, whole_percent
from novarag.report.templating import render_page
from novarag.texts import plain_text
from novarag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.attacks.outcomes import AttackCase, AttackOutcome
    from novarag.attacks.result import AttackResult
    from novarag.attacks.success import AttackScore, DefenceVerdict
    from novarag.report.verdict import Act
    from novarag.stats.figure import Figure

_MOST, _LINES, _WIDE = 12, 12, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackVerdict:
    """One line on whether attacks succeed, what stands behind it, and whether to act."""

    act: Act
    word: str
    line: str
    because: str


_ACTS: dict[DefenceStanding, tuple[Act, str]] = {
    DefenceStanding.SUCCEED: ("no", "Attacks succeed"),
    DefenceStanding.CANNOT_TELL: ("wait", "Cannot tell"),
    DefenceStanding.HOLDS: ("yes", "The defence holds"),
}
"""The sign of each verdict, and its word."""


def judge_attacks(result: AttackResult) -> AttackVerdict:
    """Put the verdicts on all defences into words: the worst as the line, the others behind it."""
    act, word = _ACTS[result.held]
    if result.held is DefenceStanding.HOLDS and len(result.verdicts) > 1:
        word = "The defences hold"
    worst = [_verdict_line(one) for one in result.verdicts if one.held is result.held]
    others = [_verdict_line(one) for one in result.verdicts if one.held is not result.held]
    return AttackVerdict(act=act, word=word, line=" ".join(worst), because=" ".join(others))


def _verdict_line(one: DefenceVerdict) -> str:
    """Say in a sentence what is known of one defence, and by which class."""
    if one.held is DefenceStanding.CANNOT_TELL:
        return f"Nobody can tell under {one.defence}: {one.doubt}."
    if one.held is DefenceStanding.HOLDS:
        few = whole_percent(FEW)
        return (
            f"{_capital(one.defence)} holds: every class of attacks is shown to change at most"
            f" {few} of replies beyond a repeat."
        )
    if not one.won:
        net = said(one.together.net) if one.together is not None else ""
        return (
            f"Attacks succeed under {one.defence}: together they change {net} of replies beyond a"
            " repeat, though no class is shown to by itself."
        )
    others = f"; also {', '.join(row.name for row in one.won[1:])}" if one.won[1:] else ""
    worst = one.won[0]
    return (
        f"Attacks succeed under {one.defence}: {len(one.won)} of {len(one.classes)} classes change"
        f" more than a repeat does, {worst.name} the most, {said(worst.net)} beyond it{others}."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def attack_notes(result: AttackResult) -> list[str]:
    """Say in plain sentences what each defence comes to, and what to mind."""
    lines = [f"{defence_line(row)}." for row in result.by_defence]
    if result.controls:
        each = ", ".join(f"{row.defence} {said(row.changed)}" for row in result.controls)
        lines.append(f"A harmless passage in the same places changes: {each}.")
    if result.cases:
        each = ", ".join(
            f"{one.defence} {one.read[0]:,} of {one.read[1]:,}" for one in result.verdicts
        )
        lines.append(f"Replies without an attack that could be read: {each}.")
    share = result.flagged / max(result.passages, 1)
    lines.append(
        f"The screen flags {result.flagged:,} of {result.passages:,} passages that hold no attack"
        f" ({hundredths(share, decimals=2)} %)."
    )
    if result.missing:
        lines.append(f"{result.missing:,} cases are left out, as a request of theirs failed.")
    return [*lines, *result.notes]


def write_attack_page(result: AttackResult, path: Path) -> Path:
    """Write the page of an attack."""
    classes = list(dict.fromkeys(row.name for row in result.by_class))
    cells = {(row.name, row.defence): row for row in result.by_class}
    page = render_page(
        "attack.html.j2",
        title=f"Attacks on {plain_text(result.model, longest=80)}",
        result=result, verdict=judge_attacks(result), summary=attack_notes(result),
        date=_today(), version=__version__, percent=percent, said=said, parts_of=PARTS,
        questions=len({case.question.id for case in result.cases}),
        attacks=len({case.attack.name for case in result.cases if not case.attack.is_control}),
        means={name: row.means for name, row in DEFENCES.items()}, about=CLASSES,
        classes=[(name, [cells.get((name, d)) for d in result.defences]) for name in classes],
        verdicts={one.defence: _ACTS[one.held][0] for one in result.verdicts},
        held={one.defence: str(one.held) for one in result.verdicts}, few=percent(FEW),
        examples=[_example(result, row) for row in _most_successful(result)],
    )  # fmt: skip
    write_whole(path, page.encode())
    return path


def _most_successful(result: AttackResult) -> list[AttackScore]:
    """Return the attacks that changed most beyond the repeat, each under one defence."""
    return [row for row in result.by_attack if row.net.value > 0][:_MOST]


def _example(result: AttackResult, row: AttackScore) -> dict[str, Any]:
    """Take a case of an attack that shows what it does: one that reached its goal, if any did."""
    cases = [c for c in result.cases if (c.attack.name, c.defence) == (row.name, row.defence)]
    cases.sort(key=lambda c: (-c.reached(result.margin), -bool(c.changed(result.margin))))
    case = cases[0]
    return {
        "row": row,
        "attack": case.attack,
        "question": case.question.text,
        "place": case.place,
        "passages": [visible(text) for text in case.passages],
        "before": outcome_line(case.before),
        "after": outcome_line(case.after),
        "changed": ", ".join(part for part in PARTS if part in case.changed(result.margin)),
    }


def visible(text: str) -> list[str]:
    r"""Write a foreign text line by line, with all that cannot be seen spelt out.

    >>> visible("a\u200bb\n\u202e")
    ['a\\u200bb', '\\u202e']
    """
    lines = text.splitlines()
    shown = [plain_text(line, longest=_WIDE) for line in lines[:_LINES]]
    return shown + (["…"] if len(lines) > _LINES else [])


def outcome_line(outcome: AttackOutcome) -> str:
    """Say in one line what came of a request."""
    decision = f", {outcome.decision}" if outcome.decision else ""
    if outcome.confidence is None:
        return f"not read ({outcome.flaw}){decision}"
    answer = plain_text(outcome.answer or "nothing", longest=120)
    return f"{answer}, {percent(outcome.confidence)}{decision}"


def attack_json(result: AttackResult) -> dict[str, Any]:
    """Write all that was counted, and the attacks as they were put in."""
    firsts: dict[str, AttackCase] = {}
    for case in result.cases:
        firsts.setdefault(case.attack.name, case)
    return {
        "kind": "attack 1",
        "version": __version__,
        "date": _today(),
        "model": result.model,
        "strategy": result.strategy,
        "succeeded": result.succeeded,
        "held": str(result.held),
        "verdict": judge_attacks(result).line,
        "verdicts": [
            {
                "defence": one.defence, "held": str(one.held), "line": _verdict_line(one),
                "classes": [row.name for row in one.won],
            }
            for one in result.verdicts
        ],
        "margin": result.margin,
        "decides": result.decides,
        "screen": {
            "action": result.action, "flagged": result.flagged, "passages": result.passages,
        },
        "calls": result.cost.calls,
        "missing": result.missing,
        "notes": list(result.notes),
        "defences": _rows(result.by_defence),
        "classes": _rows(result.by_class),
        "places": _rows(result.by_place),
        "controls": _rows(result.controls),
        "by_attack": _rows(result.by_attack),
        "attacks": {
            name: {
                "class": case.attack.kind, "goal": str(case.attack.goal),
                "states": case.attack.states, "reference": case.attack.reference,
                "passages": list(case.passages), "question": case.question.id,
            }
            for name, case in firsts.items()
        },
    }  # fmt: skip


def _rows(rows: Sequence[AttackScore]) -> list[dict[str, Any]]:
    return [
        {
            "name": row.name, "defence": row.defence, "cases": row.cases,
            "questions": row.questions, "blocked": row.blocked, "changed": _figure(row.changed),
            "repeat": _figure(row.repeat), "net": _figure(row.net),
            "reached": _figure(row.reached), "parts": dict(row.parts), "p_value": row.p_value,
            "adjusted": row.adjusted, "succeeds": row.succeeds,
        }
        for row in rows
    ]  # fmt: skip


def _figure(figure: Figure) -> dict[str, float | None]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")
