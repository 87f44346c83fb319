"""A group file written again with what an annotator found beside each passage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from novarag.annotation import settled
from novarag.datasets.groups import group_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.annotation import Annotation
    from novarag.records import PassageGroup

_DIGITS = 4  # decimals of a confidence in a file


def annotated_line(
    group: PassageGroup, annotations: Sequence[Annotation], *, least: float
) -> bytes:
    """Write a group as one line of JSON that `iter_groups` reads back.

    A passage has a kind where its verdict is sure enough; a kind it came with is kept as `known`.
    """
    row: dict[str, Any] = orjson.loads(group_line(group))
    for cells, annotation in zip(row["passages"], annotations, strict=True):
        known = {name: cells.pop(name) for name in ("kind", "facet", "claim") if name in cells}
        kind = settled(annotation, least)
        if kind is not None:
            cells["kind"] = kind
            if annotation.claim is not None:
                cells["claim"] = annotation.claim
        cells["annotation"] = annotation_cells(annotation)
        if known:
            cells["known"] = known
    return orjson.dumps(row) + b"\n"


def annotation_cells(annotation: Annotation) -> dict[str, Any]:
    """Return a verdict as plain cells."""
    return {
        "kind": annotation.kind,
        "confidence": round(annotation.confidence, _DIGITS),
        "evidence": {"quote": annotation.evidence.quote, "reason": annotation.evidence.reason},
        "by": list(annotation.by),
    }
