"""Pictures of a probe: how far confidences moved, question by question, and every score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from novarag.formatting import hundredths, points
from novarag.probes.matching import same_words
from novarag.report.svg import svg, tag, with_title
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.probes import ProbeReplies, RelationFinding
    from novarag.records import Response

BINS = 21
"""Bars of a picture of shifts, ten points each, about -100, -90, ..., 0, ..., +100."""

_LEFT, _TOP, _WIDE, _TALL = 40, 26, 380, 150
_ROW, _NAMES, _AXIS = 26, 370, 300


def shifts_of(found: RelationFinding, replies: Sequence[ProbeReplies]) -> dict[str, Any] | None:
    """Count the paired shifts of a relation by tens of points, with and without a new answer."""
    if not found.relation.second:
        return None
    same, other, total = [0] * BINS, [0] * BINS, 0.0
    for one in replies:
        pair = shift_of(one, found.relation.first, found.relation.second)
        if pair is None:
            continue
        shift, changed = pair
        (other if changed else same)[_bin(shift)] += 1
        total += shift
    n = sum(same) + sum(other)
    return {"same": same, "other": other, "n": n, "mean": total / n} if n else None


def shift_of(
    one: ProbeReplies, first: Sequence[str], second: Sequence[str]
) -> tuple[float, bool] | None:
    """Return how far the mean confidence of a question moved, and whether its answer changed."""
    before, after = read_of(one, first), read_of(one, second)
    if not before or not after:
        return None
    shift = _mean(after) - _mean(before)
    a, b = same_words([before[0].answer, after[0].answer], one.question)
    return shift, a != b


def read_of(one: ProbeReplies, variants: Sequence[str]) -> list[Response]:
    """Return the replies to some variants that could be read."""
    return [r for v in variants for r in one.replies.get(v, ()) if r is not None]


def _mean(replies: Sequence[Response]) -> float:
    return sum(r.confidence for r in replies) / len(replies)


def _bin(shift: float) -> int:
    """Find the bar of a shift; one of nothing stands in the middle.

    >>> _bin(-1.0), _bin(-0.04), _bin(0.0), _bin(1.0)
    (0, 10, 10, 20)
    """
    return min(max(round(10 * shift) + BINS // 2, 0), BINS - 1)


def draw_shifts(one: dict[str, Any]) -> Markup:
    """Draw how many questions moved by how much: plain where the answer stayed, else hatched."""
    shifts = one["shifts"]
    most = max(a + b for a, b in zip(shifts["same"], shifts["other"], strict=True))
    bottom, step = _TOP + _TALL, _WIDE / BINS
    body = [tag("rect", x=_LEFT, y=_TOP, width=_WIDE, height=_TALL, class_="frame")]
    for tick in (-100, -50, 0, 50, 100):
        x = _at(tick / 100)
        body += [
            tag("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid"),
            tag("text", f"{tick:+d}" if tick else "0", x=x, y=bottom + 15, class_="tick mid"),
        ]
    for place, (stayed, changed) in enumerate(zip(shifts["same"], shifts["other"], strict=True)):
        middle = 10 * (place - BINS // 2)
        says = f"about {middle:+d} points: {stayed} with the same answer, {changed} with another"
        tall = [round(count / most * (_TALL - 6), 2) for count in (stayed, changed)]
        x, wide = round(_LEFT + place * step + 1, 2), round(step - 2, 2)
        bars = []
        if stayed:
            bars.append(tag("rect", x=x, y=round(bottom - tall[0], 2), width=wide, height=tall[0],
                            class_="bar"))  # fmt: skip
        if changed:
            bars.append(tag("rect", x=x, y=round(bottom - sum(tall), 2), width=wide,
                            height=tall[1], class_="changed"))  # fmt: skip
        if bars:
            body.append(with_title(Markup("").join(bars), says))
    return svg(_LEFT + _WIDE + 16, bottom + 36, f"Shifts: {one['title']}", [
        *body, *_mean_mark(shifts["mean"]),
        tag("text", f"{most}", x=_LEFT - 6, y=_TOP + 10, class_="tick end"),
        tag("text", "Shift of confidence, points", x=_LEFT + _WIDE / 2, y=bottom + 32,
            class_="label mid"),
    ])  # fmt: skip


def _at(shift: float) -> float:
    """Return where a shift stands on the axis, which reaches half a bar beyond 100 points."""
    return round(_LEFT + (10 * shift + BINS / 2) / BINS * _WIDE, 2)


def _mean_mark(mean: float) -> list[Markup]:
    """Mark the mean shift, its name on the side with more room."""
    x = _at(mean)
    return [
        tag("line", x1=x, x2=x, y1=_TOP - 6, y2=_TOP + _TALL, class_="risk"),
        tag("text", f"mean {points(mean)}", x=x, y=_TOP - 10, class_="at mid"),
    ]


def draw_scores(relations: Sequence[dict[str, Any]]) -> Markup:
    """Draw the score of each relation with its interval: what lies right of 0 is broken."""
    known = [one for one in relations if one["score"]["value"] is not None]
    ends = [abs(v) for one in known for v in _ends(one)]
    reach = next((r for r in (0.1, 0.2, 0.5, 1.0) if max(ends, default=0) <= r), 2.0)
    bottom = _TOP + _ROW * len(known)
    body = []
    for part in (-1, -0.5, 0, 0.5, 1):
        x = _place(part * reach, reach)
        label = f"{'+' if part > 0 else ''}{hundredths(part * reach, decimals=0)}" if part else "0"
        body += [
            tag("line", x1=x, x2=x, y1=_TOP - 6, y2=bottom, class_="grid" if part else "zero"),
            tag("text", label, x=x, y=bottom + 15, class_="tick mid"),
        ]
    for row, one in enumerate(known):
        body += _score(one, _TOP + _ROW * (row + 0.5), reach)
    body += [
        tag("text", "kept", x=_place(-0.55 * reach, reach), y=14, class_="label mid"),
        tag("text", "broken", x=_place(0.55 * reach, reach), y=14, class_="label mid"),
    ]
    return svg(_NAMES + _AXIS + 130, bottom + 24, "Scores of all relations, in points", body)


def _ends(one: dict[str, Any]) -> list[float]:
    score = one["score"]
    return [v for v in (score["value"], score["low"], score["high"]) if v is not None]


def _place(value: float, reach: float) -> float:
    return round(_NAMES + 10 + (min(max(value / reach, -1), 1) + 1) / 2 * _AXIS, 2)


def _score(one: dict[str, Any], y: float, reach: float) -> list[Markup]:
    score, kind = one["score"], "fail" if one["act"] == "no" else "pass"
    name = plain_text(one["title"], longest=62)
    at = _place(score["value"], reach)
    drawn = [
        tag("text", name, x=_NAMES, y=y + 4, class_="tick end"),
        tag("text", one["verdict"], x=_NAMES + _AXIS + 18, y=y + 4, class_="tick start"),
    ]
    if score["low"] is not None and score["high"] is not None:
        low, high = _place(score["low"], reach), _place(score["high"], reach)
        drawn.append(tag("line", x1=low, x2=high, y1=y, y2=y, class_=kind))
    says = f"{one['title']}: {points(score['value'])} points, {one['verdict']}"
    return [*drawn, with_title(tag("circle", cx=at, cy=y, r=4, class_=kind), says)]
