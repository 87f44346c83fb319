"""Write down the noise profile of an index: one page for people, Markdown, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.annotation.model import KINDS
from novarag.annotation.profile import UNDECIDED
from novarag.report.page import open_template, plain, style_hash, template_text
from novarag.report.svg import svg, tag, with_title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from novarag.annotation import Profile
    from novarag.annotation.profile import Finding
    from novarag.metrics.panels import Figure

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
_WIDTH, _ROW, _LEFT = 720, 30, 90


def percent(value: float | None) -> str:
    r"""Format a share.

    >>> percent(0.0203), percent(None)
    ('2.0 %', '\u2013')
    """
    return "\u2013" if value is None or value != value else f"{100 * value:.1f} %"


def span(figure: Figure) -> str:
    """Format an interval, or nothing where there is none."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{100 * figure.low:.1f} to {percent(figure.high)}"


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
                body.append(with_title(bar, f"Rank {i + 1}: {SAYS[kind]}, {percent(share)}"))
            left += width
    return svg(_WIDTH, 14 + len(ranks) * _ROW, "What stands at each rank", body)


def profile_notes(profile: Profile) -> list[str]:
    """Say in plain sentences what was found."""
    lines = [
        "Of the passages, "
        + ", ".join(
            f"{percent(profile.kinds[k.value].value)} {_verb(k.value)}"
            + (f" ({span(profile.kinds[k.value])})" if span(profile.kinds[k.value]) else "")
            for k in KINDS
        )
        + f"; {percent(profile.kinds[UNDECIDED].value)} are undecided at confidence"
        f" {profile.least:g}.",
        _found(profile.unsupported, profile.groups, "have no passage that supports the answer"),
        _found(profile.conflicts, profile.groups, "hold support and another answer side by side"),
        _found(
            profile.stale, profile.groups, "hold near-identical passages that differ in a value"
        ),
    ]
    if profile.undecided_groups:
        lines.append(
            f"{profile.undecided_groups:,} groups hold a passage that nobody could judge, such as"
            " those of yes/no questions; they are not in the mix of groups."
        )
    if profile.agreement is not None:
        figure = profile.agreement.macro_f1
        lines.append(
            f"Against the kinds the file came with, macro-F1 is {figure.value:.3f}"
            + (f" ({figure.low:.3f} to {figure.high:.3f})" if figure.low and figure.high else "")
            + ", undecided passages counted as missed."
        )
    return [*lines, *profile.notes]


def _verb(kind: str) -> str:
    return {
        "gold": "support the answer",
        "counterfactual": "state another",
        "relevant": "are related",
        "irrelevant": "are unrelated",
    }[kind]


def _found(finding: Finding, groups: int, what: str) -> str:
    count, share = finding.count, finding.share
    interval = f", {span(share)}" if span(share) else ""
    return f"{count:,} of {groups:,} groups ({percent(share.value)}{interval}) {what}."


def profile_json(profile: Profile) -> str:
    """Return the whole profile as JSON; `group_mix` is what `novarag measure --mix` reads."""
    return json.dumps(plain(profile), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def write_profile(profile: Profile, folder: Path, *, source: str, version: str) -> list[Path]:
    """Write profile.json, report.html and report.md; the same profile gives the same bytes."""
    style = template_text("report.css") + template_text("profile.css")
    parts = {
        "p": profile, "source": source, "version": version, "says": SAYS, "groups": GROUPS,
        "summary": profile_notes(profile), "style": Markup(style),  # noqa: S704 - our own files
        "style_hash": style_hash(style), "percent": percent, "span": span, "kinds": KINDS,
        "draw_ranks": draw_ranks,
        "findings": [
            ("Questions without support", "No passage of the group is even guessed to support the"
             " answer. Shown: the passage that came nearest.", profile.unsupported),
            ("Conflicts", "One passage supports the answer and another states a different one.",
             profile.conflicts),
            ("Stale duplicates", "Two passages of a group are nearly the same text but differ in a"
             " number or a date.", profile.stale),
        ],
    }  # fmt: skip
    texts = {
        "profile.json": profile_json(profile),
        "report.html": open_template("profile.html.j2", escape=True).render(parts),
        "report.md": open_template("profile.md.j2", escape=False).render(parts),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
