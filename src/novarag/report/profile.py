"""Write down the noise profile of an index: one page for people, Markdown, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from novarag.annotation.model import KINDS
from novarag.annotation.profile import UNDECIDED
from novarag.formatting import fixed_percent
from novarag.report.page import plain
from novarag.report.svg import svg, tag, with_title
from novarag.report.templating import open_template, render_page, write_texts
from novarag.report.words import figure_span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from markupsafe import Markup

    from novarag.annotation import PoolProfile
    from novarag.annotation.profile import ProfileFinding

SAYS = {
    "gold": "supports the answer",
    "counterfactual": "states another answer",
    "relevant": "related",
    "irrelevant": "unrelated",
    UNDECIDED: "undecided",
}
"""Each kind in the words of the report."""

GROUPS = {
    "counterfactual": "a passage states another answer",
    "consistent": "a passage supports the answer, none states another",
    "irrelevant": "no passage answers",
}
_WIDTH, _ROW, _LEFT, _LETTER = 720, 30, 90, 6.4


def rank_finding(ranks: Sequence[Mapping[str, float]]) -> str:
    """Say how often the first and the last rank support the answer."""
    if not ranks:
        return ""
    first, last = (rank.get("gold", 0.0) for rank in (ranks[0], ranks[-1]))
    return (
        f"Rank 1 supports the answer {fixed_percent(first)} of the time, rank {len(ranks)}"
        f" {fixed_percent(last)}"
    )


def draw_ranks(ranks: Sequence[Mapping[str, float]]) -> Markup:
    """Draw what stands at each rank as one bar, from first to last."""
    body = []
    for i, shares in enumerate(ranks):
        top, left = 8 + i * _ROW, float(_LEFT)
        body.append(tag("text", f"Rank {i + 1}", x=_LEFT - 10, y=top + 15, class_="tick end"))
        for kind, share in shares.items():
            width = share * (_WIDTH - _LEFT - 10)
            if width > 0:
                bar = tag(
                    "rect", x=round(left, 2), y=top, width=round(width, 2), height=_ROW - 9,
                    class_=f"kind-{kind}",
                )  # fmt: skip
                body.append(with_title(bar, f"Rank {i + 1}: {SAYS[kind]}, {fixed_percent(share)}"))
                body += _at_bar(SAYS[kind], share, left, top)
            left += width
    return svg(_WIDTH, 14 + len(ranks) * _ROW, "What stands at each rank", body)


def _at_bar(says: str, share: float, left: float, top: float) -> list[Markup]:
    """Write on a bar what it is and how much, as far as there is room."""
    room = share * (_WIDTH - _LEFT - 10) / _LETTER
    fitting = [
        text
        for text in (f"{says} {fixed_percent(share)}", fixed_percent(share))
        if len(text) < room
    ]
    place = {"x": round(left + 6, 2), "y": top + 15, "class_": "at start"}
    return [tag("text", text, **place) for text in fitting[:1]]


def profile_notes(profile: PoolProfile) -> list[str]:
    """Say in plain sentences what was found."""
    lines = [
        _shares(profile),
        _found(profile.unsupported, "have no passage that supports the answer", kind="judged "),
        _found(profile.conflicts, "hold support and another answer side by side"),
        _found(profile.stale, "hold near-identical passages that differ in a value"),
    ]
    if profile.undecided_groups:
        lines.append(
            f"{profile.undecided_groups:,} groups hold a passage that nobody could judge, such as"
            " those of yes/no questions; they are not among the judged ones, nor in the mix of"
            " groups." + ("" if profile.group_mix else " No group is judged, so there is no mix.")
        )
    if profile.agreement is not None:
        figure = profile.agreement.macro_f1
        known = figure.low is not None and figure.high is not None
        lines.append(
            f"Against the kinds the file came with, macro-F1 is {figure.value:.3f}"
            + (f" ({figure.low:.3f} to {figure.high:.3f})" if known else "")
            + ", undecided passages counted as missed."
        )
    return [*lines, *profile.notes]


def _shares(profile: PoolProfile) -> str:
    if not profile.kinds:
        return "There is no passage in any group."
    by_kind = [(k.value, profile.kinds[k.value]) for k in KINDS]
    return (
        "Of the passages, "
        + ", ".join(
            f"{fixed_percent(figure.value)} {_verb(kind)}"
            + (f" ({figure_span(figure)})" if figure_span(figure) else "")
            for kind, figure in by_kind
        )
        + f"; {fixed_percent(profile.kinds[UNDECIDED].value)} are undecided at confidence"
        f" {profile.min_confidence:g}."
    )


def _verb(kind: str) -> str:
    return {
        "gold": "support the answer",
        "counterfactual": "state another",
        "relevant": "are related",
        "irrelevant": "are unrelated",
    }[kind]


def counted(finding: ProfileFinding, kind: str = "") -> str:
    """Say how many groups, of how many, and their share; `kind` says which groups they are."""
    of = f"{finding.count:,} of {finding.among:,} {kind}groups"
    if finding.share is None:
        return of
    interval = f", {figure_span(finding.share)}" if figure_span(finding.share) else ""
    return f"{of} ({fixed_percent(finding.share.value)}{interval})"


def _found(finding: ProfileFinding, what: str, *, kind: str = "") -> str:
    return f"{counted(finding, kind)} {what}."


def profile_json(profile: PoolProfile) -> str:
    """Return the whole profile as JSON; `measure --kind-shares` reads `group_mix` of it."""
    return json.dumps(plain(profile), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def write_profile(profile: PoolProfile, folder: Path, *, source: str, version: str) -> list[Path]:
    """Write profile.json, report.html and report.md; the same profile gives the same bytes."""
    parts: dict[str, Any] = {
        "p": profile, "source": source, "version": version, "says": SAYS, "groups": GROUPS,
        "summary": profile_notes(profile), "percent": fixed_percent, "span": figure_span,
        "kinds": KINDS,
        "draw_ranks": draw_ranks, "rank_finding": rank_finding(profile.ranks), "counted": counted,
        "findings": [
            ("Questions without support", "No passage of the group is even guessed to support the"
             " answer, or there is none. Groups that nobody could judge are not counted. Shown: the"
             " passage that came nearest.", profile.unsupported),
            ("Conflicts", "One passage supports the answer and another states a different one.",
             profile.conflicts),
            ("Stale duplicates", "Two passages of a group are nearly the same text but differ in a"
             " number or a date.", profile.stale),
        ],
    }  # fmt: skip
    texts = {
        "profile.json": profile_json(profile),
        "report.html": render_page("profile.html.j2", **parts),
        "report.md": open_template("profile.md.j2", escape=False).render(parts),
    }
    return write_texts(folder, texts)
