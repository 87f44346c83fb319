"""How well verdicts agree with kinds that are known: a confusion matrix, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.annotation.model import KINDS
from novarag.defaults import ANNOTATE
from novarag.stats.binomial import share_ends
from novarag.stats.figure import Figure
from novarag.stats.resampling import draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from novarag.taxonomy import PassageKind

_COLUMNS = len(KINDS) + 1  # the last column is "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Known kinds down, verdicts across, undecided last; figures by kind, with 95 % intervals."""

    matrix: tuple[tuple[int, ...], ...]
    precision: dict[str, Figure]
    recall: dict[str, Figure]
    f1: dict[str, Figure]
    macro_f1: Figure
    accuracy: Figure


def agree(
    known: Sequence[PassageKind],
    said: Sequence[PassageKind | None],
    questions: Sequence[str],
    *,
    replicates: int = ANNOTATE.replicates,
    seed: int = ANNOTATE.seed,
) -> Agreement:
    """Compare verdicts with known kinds; whole questions are resampled for the intervals.

    An undecided passage is a miss of its kind and a false alarm of none.
    """
    names = {name: i for i, name in enumerate(dict.fromkeys(questions))}
    cells = np.zeros((len(names), len(KINDS), _COLUMNS))
    for true, verdict, question in zip(known, said, questions, strict=True):
        column = KINDS.index(verdict) if verdict is not None else len(KINDS)
        cells[names[question], KINDS.index(true), column] += 1
    whole = cells.sum(axis=0)
    flat = cells.reshape(len(names), -1)
    parts = [
        (w @ flat).reshape(-1, len(KINDS), _COLUMNS)
        for w in draws(len(names), replicates, seed=seed, width=flat.shape[1])
    ]
    value, drawn = _figures(whole[None]), _figures(np.concatenate(parts))
    n = int(whole.sum())
    held, said_of = cells.sum(axis=2), cells.sum(axis=1)[:, : len(KINDS)]
    bases = {"precision": said_of, "recall": held, "f1": held + said_of}

    def figures(name: str) -> dict[str, Figure]:
        asked = np.count_nonzero(bases[name], axis=0)
        return {
            kind.value: Figure(
                float(value[name][0, i]), *share_ends(drawn[name][:, i], int(asked[i])), n
            )
            for i, kind in enumerate(KINDS)
        }

    return Agreement(
        matrix=tuple(tuple(int(c) for c in row) for row in whole),
        precision=figures("precision"),
        recall=figures("recall"),
        f1=figures("f1"),
        macro_f1=Figure(float(value["macro"][0]), *share_ends(drawn["macro"], len(names)), n),
        accuracy=Figure(float(value["accuracy"][0]), *share_ends(drawn["accuracy"], len(names)), n),
    )


def _figures(cells: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Compute the figures of each matrix; a kind that nobody has or says has none."""
    hits = np.diagonal(cells, axis1=1, axis2=2)[:, : len(KINDS)]
    held, said = cells.sum(axis=2), cells.sum(axis=1)[:, : len(KINDS)]
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * hits / (held + said)
        known = ~np.isnan(f1)
        macro = np.where(known, f1, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return {
            "precision": hits / said,
            "recall": hits / held,
            "f1": f1,
            "macro": macro,
            "accuracy": hits.sum(axis=1) / cells.sum(axis=(1, 2)),
        }
