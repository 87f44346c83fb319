"""Annotations on disk: groups with what was found beside each passage, and a judge's replies."""

from __future__ import annotations

from collections import UserDict
from typing import TYPE_CHECKING, Any

import orjson

from novarag.annotation import settled
from novarag.datasets.groups import group_line
from novarag.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.annotation import Annotation
    from novarag.records import PassageGroup

_DIGITS = 4  # decimals of a confidence in a file


def annotated_line(
    group: PassageGroup, annotations: Sequence[Annotation], *, min_confidence: float
) -> bytes:
    """Write a group as one line of JSON that `iter_groups` reads back.

    A passage has a kind where its verdict is sure enough; a kind it came with is kept as `known`.
    """
    row: dict[str, Any] = orjson.loads(group_line(group))
    for cells, annotation in zip(row["passages"], annotations, strict=True):
        known = {name: cells.pop(name) for name in ("kind", "facet", "claim") if name in cells}
        kind = settled(annotation, min_confidence)
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


class Votes(UserDict[str, str]):
    """The replies of one model by the hash of what it was asked; each is on disk once it is set.

    A line that a kill cut short is passed over, and asked again.
    """

    def __init__(self, path: Path, *, model: str) -> None:
        super().__init__()
        self._model = model
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab+", buffering=0)
            self._file.seek(0)
            held = self._file.read()
            for cells in map(_cells, held.split(b"\n")):
                if cells.get("model") == model:
                    self.data[str(cells.get("prompt"))] = str(cells.get("reply"))
            if held and not held.endswith(b"\n"):
                self._file.write(b"\n")
        except OSError as error:
            raise _unwritable(path, error) from error
        self._path = path

    def __setitem__(self, prompt: str, reply: str) -> None:
        """Write a reply down, then hold it."""
        text = reply.encode("utf-8", "replace").decode("utf-8")  # half a surrogate cannot be told
        row = {"model": self._model, "prompt": prompt, "reply": text}
        try:
            self._file.write(orjson.dumps(row) + b"\n")
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self.data[prompt] = text

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _cells(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {error.strerror or error}. Fix that and try again.")
