"""A page on a probe: what is proved without a label, relation by relation, and what was said."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from novarag.atomic import write_whole
from novarag.probes import FEWEST, LEVEL, RELATIONS, VARIANTS, Verdict
from novarag.report.probe_examples import pick_pairs
from novarag.report.probe_shifts import draw_scores, draw_shifts, shifts_of
from novarag.report.templating import render_page
from novarag.report.words import points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from novarag.probes import Card, Finding, Probed
    from novarag.records import PassageGroup

    Groups = Mapping[tuple[str, str], PassageGroup]

TITLE = "Probe without labels"
ACTS = {
    Verdict.BREAKS: "no",
    Verdict.HOLDS: "yes",
    Verdict.CANNOT_TELL: "wait",
    Verdict.TOO_FEW: "wait",
}
"""The sign of each verdict on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeHeading:
    """What a probe says of itself: who was asked what, when, and what became of the calls."""

    system: str
    source: str
    strategy: str
    profile: str
    temperature: float
    seed: int
    available: int
    made: str
    version: str
    notes: Sequence[str] = ()
    unmade: Mapping[str, int] = field(default_factory=dict)
    flaws: Mapping[str, int] = field(default_factory=dict)
    dead: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeVerdict:
    """What stands first: whether anything is proved, and what to do next."""

    act: str
    word: str
    line: str
    because: str = ""


def probe_verdict(card: Card) -> ProbeVerdict:
    """Say in one line what is proved, or how many more questions it would take."""
    broken, proved = card.broken, card.proved
    sure = 0 if proved is None else round(100 * proved.points)
    if sure and proved is not None:
        line = f"{sure} points of over-confidence proved without a label."
        because = (
            f"It states {100 * proved.stated:.0f} % on average, and its replies agree too little"
            f" for more than {100 * (proved.ceiling + proved.taken_off):.0f} % to be right."
        )
        return ProbeVerdict(
            act="no", word="Over-confident", line=line, because=f"{because}{_also(card)}"
        )
    if broken:
        titles = "; ".join(found.relation.title for found in broken[:3])
        many = f"{len(broken)} of {len(card.findings)} relations are broken"
        return ProbeVerdict(act="no", word="Broken", line=f"{many}.", because=f"{titles}.")
    held = sum(found.verdict is Verdict.HOLDS for found in card.findings)
    if card.findings and held == len(card.findings):
        line = f"All {held} relations that were asked hold."
        why = "That is no proof of calibration: labels are, by `measure`."
        return ProbeVerdict(act="yes", word="Nothing broken", line=line, because=why)
    return ProbeVerdict(
        act="wait", word="Nothing proved", line=f"Nothing proved: {_next(card)}.",
        because=f"{held} of {len(card.findings)} relations hold; the others cannot be told yet.",
    )  # fmt: skip


def _also(card: Card) -> str:
    count = len(card.broken)
    return f" {count} of {len(card.findings)} relations are broken." if count else ""


def _next(card: Card) -> str:
    """Say how many more questions it takes to tell more."""
    if card.questions < FEWEST:
        return f"ask about {FEWEST - card.questions:,} more, the least that can be judged"
    more = [found.more for found in card.findings if found.more]
    return f"ask about {min(more):,} more" if more else "no number of questions would settle it"


def probe_content(
    heading: ProbeHeading, card: Card, replies: Sequence[Probed], groups: Groups
) -> dict[str, Any]:
    """Return all that the page shows, as JSON can hold it: both are made from this."""
    return {
        "heading": {**asdict(heading), "notes": list(heading.notes)},
        "verdict": asdict(probe_verdict(card)),
        "questions": card.questions,
        "replies": card.replies,
        "unread": card.unread,
        "level": LEVEL,
        "fewest": FEWEST,
        "one_sided": card.one_sided,
        "proved": None if card.proved is None else _proved(card),
        "risk": asdict(card.risk),
        "relations": [_finding(found, replies, groups) for found in card.findings],
        "not_asked": [_not_asked(name, heading) for name in card.not_asked],
    }


def _proved(card: Card) -> dict[str, Any]:
    assert card.proved is not None  # noqa: S101 - the caller looked
    return {**asdict(card.proved), "points": card.proved.points}


def _finding(found: Finding, replies: Sequence[Probed], groups: Groups) -> dict[str, Any]:
    relation = found.relation
    return {
        "name": relation.name,
        "title": relation.title,
        "says": relation.says,
        "basis": str(relation.basis),
        "kind": str(relation.kind),
        "margin": relation.margin,
        "reason": relation.reason,
        "cites": relation.cites,
        "first": list(relation.first),
        "second": list(relation.second),
        "verdict": str(found.verdict),
        "act": ACTS[found.verdict],
        "score": {
            "value": _number(found.score.value), "low": _number(found.score.low),
            "high": _number(found.score.high), "n": found.score.n,
        },
        "p_breaks": found.p_breaks,
        "p_holds": found.p_holds,
        "more": found.more,
        "questions": found.questions,
        "left_out": found.left_out,
        "replies": found.replies,
        "unread": found.unread,
        "before": _number(found.first),
        "after": _number(found.second),
        "changed": _number(found.changed),
        "shifts": shifts_of(found, replies),
        "examples": pick_pairs(found, replies, groups),
    }  # fmt: skip


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else float(value)


def _not_asked(name: str, heading: ProbeHeading) -> dict[str, Any]:
    """Say why a relation was not asked: its variants are not of the profile, or cannot be made."""
    relation = RELATIONS[name]
    missing = [v for v in relation.variants if v in heading.unmade]
    why = "the profile does not ask it"
    if missing:
        variant = VARIANTS[missing[0]]
        why = f"{variant.title.lower()} needs {variant.needs}, and there is none"
    return {"name": name, "title": relation.title, "why": why}


def probe_json(
    heading: ProbeHeading, card: Card, replies: Sequence[Probed], groups: Groups
) -> bytes:
    """Return what the page shows as JSON."""
    content = probe_content(heading, card, replies, groups)
    return json.dumps(content, indent=1, allow_nan=False).encode()


def write_probe_page(
    heading: ProbeHeading, card: Card, replies: Sequence[Probed], groups: Groups, path: Path
) -> Path:
    """Write the page of a probe."""
    content = probe_content(heading, card, replies, groups)
    pictures = [(one, draw_shifts(one)) for one in content["relations"] if one["shifts"]]
    page = render_page(
        "probe.html.j2", style="probe.css", title=TITLE, c=content, points=points,
        scores=draw_scores(content["relations"]), pictures=pictures, variants=VARIANTS,
        shown=_broken_first(content["relations"]),
    )  # fmt: skip
    write_whole(path, page.encode("utf-8"))
    return path


def _broken_first(relations: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put relations that have examples in the order of what they are good for."""
    order = ("no", "wait", "yes")
    return sorted((r for r in relations if r["examples"]), key=lambda r: order.index(r["act"]))


def probe_notes(card: Card) -> list[str]:
    """Say in plain sentences what was found, for a terminal."""
    verdict = probe_verdict(card)
    lines = [f"{verdict.line} {verdict.because}".strip()]
    for found in card.findings:
        ends = ""
        if found.score.low is not None and found.score.high is not None:
            ends = f" ({points(found.score.low)} to {points(found.score.high)})"
        more = f"; ask about {found.more:,} more" if found.more else ""
        lines.append(
            f"{found.verdict}: {found.relation.title}: {points(found.score.value)}{ends} points,"
            f" {found.questions:,} questions, {found.unread:,} of {found.replies:,} replies unread"
            f"{more}"
        )
    if card.not_asked:
        lines.append(f"Not asked: {', '.join(card.not_asked)}.")
    return lines
