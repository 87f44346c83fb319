"""Replies side by side, with what was changed in their passages marked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from novarag.probes.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.probes import ProbeReplies, RelationFinding
    from novarag.records import Passage, PassageGroup, Response

MOST = 2
"""Examples of each relation."""

LONGEST, REPLIES = 420, 5
"""Characters of a passage that are shown, and replies of one side."""


def pick_pairs(
    found: RelationFinding,
    replies: Sequence[ProbeReplies],
    groups: Mapping[tuple[str, str], PassageGroup],
) -> list[dict[str, Any]]:
    """Take the questions that speak most for a break, each with both sides."""
    known = {str(one.question.id): one for one in replies}
    worst = sorted(found.scores.items(), key=lambda item: (-item[1], item[0]))
    pairs: list[dict[str, Any]] = []
    for question, score in worst:
        one = known.get(question)
        if one is not None and len(pairs) < MOST:
            pairs.append({"question": one.question.text, "score": float(score),
                          "sides": _sides(found, one, groups)})  # fmt: skip
    return pairs


def _sides(
    found: RelationFinding, one: ProbeReplies, groups: Mapping[tuple[str, str], PassageGroup]
) -> list[dict[str, Any]]:
    first, second = found.relation.first, found.relation.second
    before = _passages(one, first, groups)
    if not second:
        shown = [{"state": "kept", "pieces": [[_cut(p.text), False]]} for p in before]
        return [_side("Asked several times", first, one, shown)]
    left, right = compare(before, _passages(one, second, groups))
    title = VARIANTS[second[0]].title
    return [_side("Original", first, one, left), _side(title, second, one, right)]


def _passages(
    one: ProbeReplies, variants: Sequence[str], groups: Mapping[tuple[str, str], PassageGroup]
) -> tuple[Passage, ...]:
    found = (groups.get((str(one.question.id), variant)) for variant in variants)
    return next((group.passages for group in found if group is not None), ())


def _side(
    title: str, variants: Sequence[str], one: ProbeReplies, passages: list[dict[str, Any]]
) -> dict[str, Any]:
    said = [reply for variant in variants for reply in one.replies.get(variant, ())]
    return {
        "title": title,
        "replies": [_reply(reply) for reply in said[:REPLIES]],
        "more": max(0, len(said) - REPLIES),
        "passages": passages,
    }


def _reply(reply: Response | None) -> dict[str, Any]:
    if reply is None:
        return {"answer": None, "confidence": None}
    return {"answer": reply.answer[:LONGEST], "confidence": reply.confidence}


def compare(
    before: Sequence[Passage], after: Sequence[Passage]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Mark what two lists of passages do not share: taken away, added, changed, moved.

    Each passage comes as pieces of text, marked or not.
    """
    olds, news = [p.text for p in before], [p.text for p in after]
    gone = list((Counter(olds) - Counter(news)).elements())
    fresh = list((Counter(news) - Counter(olds)).elements())
    changed = _matched(gone, fresh)
    order = [text for text in olds if text in news]
    moved = [text for text in dict.fromkeys(news) if text in olds] != list(dict.fromkeys(order))
    left, right = [], []
    for text in olds:
        away = text in gone and text not in changed
        left.append(_shown(text, "taken away" if away else "kept", away))
    came, back = list(fresh), {new: old for old, new in changed.items()}
    for place, text in reversed(list(enumerate(news))):  # of two alike, the later one was added
        if text in came:
            came.remove(text)
            old = back.get(text)
            right.append(_shown(text, "added", True) if old is None else _edited(old, text))
        else:
            right.append(_shown(text, _moved(text, place, olds) if moved else "kept", False))
    return left, right[::-1]


def _moved(text: str, place: int, olds: Sequence[str]) -> str:
    was = olds.index(text)
    return "kept" if was == place else f"was number {was + 1}"


def _matched(gone: Sequence[str], fresh: Sequence[str]) -> dict[str, str]:
    """Pair passages of which one is the other with something put in."""
    found: dict[str, str] = {}
    for old in gone:
        for new in fresh:
            if old and new not in found.values() and sum(_ends(old, new)) == len(old):
                found[old] = new
                break
    return found


def _ends(old: str, new: str) -> tuple[int, int]:
    """Count the characters that two texts share at their beginning, and at their end."""
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    rest = most - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return head, tail


def _edited(old: str, new: str) -> dict[str, Any]:
    head, tail = _ends(old, new)
    end = len(new) - tail
    pieces = [[_cut(new[:head]), False], [_cut(new[head:end]), True], [_cut(new[end:]), False]]
    return {"state": "changed", "pieces": [piece for piece in pieces if piece[0]]}


def _shown(text: str, state: str, marked: bool) -> dict[str, Any]:
    return {"state": state, "pieces": [[_cut(text), marked]]}


def _cut(text: str) -> str:
    """Shorten a text in its middle."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} … {text[-half:]}"
