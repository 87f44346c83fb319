"""An encoder's cosines on a scale that does not depend on the encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from novarag.records import PassageGroup


def closeness(
    questions: NDArray[np.float32],
    passages: Sequence[NDArray[np.float32]],
    *,
    names: Sequence[str] | None = None,
) -> list[list[float]]:
    """Return how close each passage is to its question, from 0 to 1.

    0 is the average passage of another question, 1 the average best passage of a question's own.
    `questions` has one row a group; `passages` one array a group, in the same order; `names` says
    which groups ask the same, else each asks its own. With one question alone there are no others
    to compare with, and 0 is a cosine of 0.
    """
    units = [_unit(p) for p in passages]
    asked = _unit(questions)
    own = [p @ q for p, q in zip(units, asked, strict=True)]
    before = _another(names if names is not None else list(map(str, range(len(units)))))
    others = [p @ asked[b] for p, b in zip(units, before, strict=True) if b is not None and len(p)]
    best = [float(c.max()) for c in own if c.size]
    low = float(np.mean(np.concatenate(others))) if others else 0.0
    high = float(np.mean(best)) if best else 1.0
    width = max(high - low, 1e-6)
    return [np.clip((c - low) / width, 0.0, 1.0).astype(np.float64).tolist() for c in own]


def passage_texts(groups: Sequence[PassageGroup]) -> list[str]:
    """List the texts of all passages, each once."""
    return list(dict.fromkeys(p.text for group in groups for p in group.passages))


def group_closeness(
    groups: Sequence[PassageGroup],
    questions: NDArray[np.float32],
    texts: Sequence[str],
    vectors: NDArray[np.float32],
) -> list[list[float]]:
    """Return how close each passage of each group is to its question.

    `questions` has a row a group, `vectors` one for each of `texts`.
    """
    at = {text: i for i, text in enumerate(texts)}
    return closeness(
        questions,
        [vectors[[at[p.text] for p in group.passages]] for group in groups],
        names=[group.question.id for group in groups],
    )


def _another(names: Sequence[str]) -> list[int | None]:
    """Return for each group the last one before it, round and round, with another question."""
    found: list[int | None] = []
    other: int | None = next(
        (i for i in range(len(names) - 1, -1, -1) if names[i] != names[0]), None
    )
    for i, name in enumerate(names):
        if i and names[i - 1] != name:
            other = i - 1
        found.append(other)
    return found


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return np.asarray(wide / np.where(lengths > 0, lengths, 1.0))
