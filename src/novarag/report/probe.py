"""A page on a probe: what is proved without a label, relation by relation, and what was said."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from novarag.atomic import write_whole
from novarag.formatting import points, whole_percent
from novarag.probes import (
    FEWEST,
    LEVEL,
    RELATIONS,
    VARIANTS,
    RelationBasis,
    RelationKind,
    RelationVerdict,
    VariantNeed,
)
from novarag.report.probe_examples import pick_pairs
from novarag.report.probe_shifts import draw_scores, draw_shifts, shifts_of
from novarag.report.templating import render_page
from novarag.stats.johnson import mean_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from novarag.probes import ProbeCard, ProbeReplies, RelationFinding
    from novarag.records import PassageGroup

    GroupsByKey = Mapping[tuple[str, str], PassageGroup]

TITLE = "Probe without labels"
ACTS = {
    RelationVerdict.BREAKS: "no",
    RelationVerdict.HOLDS: "yes",
    RelationVerdict.CANNOT_TELL: "wait",
    RelationVerdict.TOO_FEW: "wait",
}
"""The sign of each verdict on a page."""

RULE = (
    "A relation breaks where the range of its score does not reach below 0, and holds where it does"
    " not reach above its tolerance; what does neither cannot be told."
)
"""How verdicts are read from ranges, in the words of page, terminal and docs."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedPoints:
    """Over-confidence proved of replies to one kind of passages, or of two kinds together.

    `value` is what was found and `points` what is proved of it, at least 0: the bounds of all rows
    hold together in 95 % of probes. `stated` is the mean confidence of these replies.
    """

    relation: str
    passages: str
    value: float
    points: float
    stated: float | None


def proved_points(card: ProbeCard) -> list[ProvedPoints]:
    """Turn each bound into points of over-confidence, with bounds that hold together.

    Where two kinds of passages are compared, a score counts both confidences: each is over the
    truth by half of it, on average. Nothing is proved by a bound whose relation is not broken.
    """
    bounds = [
        f for f in card.findings if f.relation.kind is RelationKind.BOUND and f.p_breaks is not None
    ]
    rows = []
    for found in bounds:
        scores = np.array(list(found.scores.values()))
        low, _ = mean_bounds(scores, level=LEVEL / len(bounds))
        second = [VARIANTS[v].title.lower() for v in found.relation.second]
        share = 1 / (1 + len(second))
        sides = [s for s in (found.first, found.second if second else None) if s is not None]
        rows.append(
            ProvedPoints(
                relation=found.relation.name,
                passages=" + ".join(["original", *second]),
                value=share * float(scores.mean()),
                points=max(0.0, share * float(low))
                if found.verdict is RelationVerdict.BREAKS
                else 0.0,
                stated=sum(sides) / len(sides) if sides else None,
            )
        )
    return rows


def probe_verdict(card: ProbeCard) -> ProbeVerdict:
    """Say in one line what is proved, or how many more questions it would take."""
    best = max(proved_points(card), key=lambda row: row.points, default=None)
    sure = 0 if best is None else int(100 * best.points)
    if sure and best is not None:
        many = "1 point" if sure == 1 else f"{sure} points"
        because = (
            f"Over its replies to {best.passages} it states {whole_percent(best.stated or 0)} on"
            " average, and they differ too often for that many to be right."
        )
        return ProbeVerdict(
            act="no", word="Over-confident", because=because + _also(card),
            line=f"{many} of over-confidence proved without a label.",
        )  # fmt: skip
    broken = card.broken
    if broken:
        titles = "; ".join(found.relation.title for found in broken[:3])
        count = f"{len(broken)} of {len(card.findings)} relations {_are(len(broken))} broken"
        return ProbeVerdict(act="no", word="Broken", line=f"{count}.", because=f"{titles}.")
    held = sum(found.verdict is RelationVerdict.HOLDS for found in card.findings)
    if card.findings and held == len(card.findings):
        line = f"All {held} relations that were asked hold."
        why = "That is no proof of calibration: only graded answers give one."
        return ProbeVerdict(act="yes", word="Nothing broken", line=line, because=why)
    return ProbeVerdict(
        act="wait", word="Nothing proved", line=f"Nothing proved: {_next(card)}.",
        because=f"{held} of {len(card.findings)} relations hold; the others cannot be told yet.",
    )  # fmt: skip


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _also(card: ProbeCard) -> str:
    count = len(card.broken)
    return f" {count} of {len(card.findings)} relations {_are(count)} broken." if count else ""


def _next(card: ProbeCard) -> str:
    """Say how many more questions it takes to tell more."""
    if card.questions < FEWEST:
        return f"ask about {FEWEST - card.questions:,} more, the least that can be judged"
    more = [found.more for found in card.findings if found.more]
    return f"ask about {min(more):,} more" if more else "no number of questions would settle it"


def probe_content(
    heading: ProbeHeading, card: ProbeCard, replies: Sequence[ProbeReplies], groups: GroupsByKey
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
        "rule": RULE,
        "one_sided": card.one_sided,
        "points_proved": [asdict(row) for row in proved_points(card)],
        "proved": None if card.proved is None else asdict(card.proved),
        "risk": asdict(card.risk),
        "relations": [_finding(found, replies, groups) for found in card.findings],
        "not_asked": [
            {
                "name": name,
                "title": RELATIONS[name].title,
                "why": why_not_asked(name, heading.unmade),
            }
            for name in card.not_asked
        ],
    }


def _finding(
    found: RelationFinding, replies: Sequence[ProbeReplies], groups: GroupsByKey
) -> dict[str, Any]:
    relation = found.relation
    return {
        "name": relation.name,
        "title": relation.title,
        "says": relation.says,
        "basis": str(relation.basis),
        "kind": str(relation.kind),
        "margin": relation.margin,
        "tolerance": relation.tolerance,
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
        "open": None if found.open is None else str(found.open),
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


def why_not_asked(name: str, unmade: Mapping[str, int]) -> str:
    """Say why a relation was not asked: it is not of the profile, or its variant was not made."""
    missing = [VARIANTS[v] for v in RELATIONS[name].variants if v in unmade]
    if not missing:
        return "the profile does not ask it"
    title, needs = missing[0].title.lower(), missing[0].needs
    if needs is VariantNeed.NOTHING:
        return f"{title} could be made of no question"
    return f"{title} needs {needs}, and there is none"


def probe_json(
    heading: ProbeHeading, card: ProbeCard, replies: Sequence[ProbeReplies], groups: GroupsByKey
) -> bytes:
    """Return what the page shows as JSON."""
    content = probe_content(heading, card, replies, groups)
    return json.dumps(content, indent=1, allow_nan=False).encode()


def write_probe_page(
    heading: ProbeHeading,
    card: ProbeCard,
    replies: Sequence[ProbeReplies],
    groups: GroupsByKey,
    path: Path,
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


def probe_notes(card: ProbeCard) -> list[str]:
    """Say in plain sentences what was found, for a terminal."""
    verdict = probe_verdict(card)
    lines = [f"{verdict.line} {verdict.because}".strip()]
    for found in card.findings:
        ends = ""
        if found.score.low is not None and found.score.high is not None:
            ends = f" ({points(found.score.low)} to {points(found.score.high)})"
        lines.append(
            f"{found.verdict}: {found.relation.title}: {points(found.score.value)}{ends} points,"
            f" {found.questions:,} questions, {found.unread:,} of {found.replies:,} replies unread"
            f"{why_open(found)}"
        )
    if any(found.p_breaks is not None for found in card.findings):
        lines.append(f"{RULE} The tolerance is {_tolerances(card)}.")
    if card.not_asked:
        lines.append(f"Not asked: {', '.join(card.not_asked)}.")
    return lines


def why_open(found: RelationFinding) -> str:
    """Say why a relation cannot be told, and how many more questions it takes."""
    more = f"; ask about {found.more:,} more" if found.more else ""
    return f"{more}: {found.open}" if more else f"; {found.open}" if found.open else ""


def _tolerances(card: ProbeCard) -> str:
    """Say from where on the relations of a card hold, by what they rest on."""
    known = {f.relation.basis: f.relation.tolerance for f in card.findings}
    words = {
        RelationBasis.PROVED: "for what is proved",
        RelationBasis.CONVENTION: "for a convention",
    }
    return ", ".join(f"{points(known[basis])} {words[basis]}" for basis in words if basis in known)
