"""What a judge's marks are worth, held against what people say of the same rows.

A judge is whatever says right or wrong of an answer: a model, a rule, a vendor. Its sensitivity is
the share it marks wrong of what people call wrong, its specificity the share it marks right of what
they call right. Rows of one source stand together in every interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.formatting import span, whole_percent
from novarag.stats.clustered import clustered_share
from novarag.stats.corrected_rate import CorrectedRate, correct_rate, share_saved

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats, Ints
    from novarag.stats.figure import Figure

DRAWS = 400  # bootstrap draws of sources behind the interval of the labels saved
LEAST_SOURCES = 8  # with labels; fewer say nothing about how a judge goes with people


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRows:
    """Rows with a judge's marks: 1 says wrong, 0 right.

    `label` is what people say, NaN where nobody looked; `source` numbers what stands together;
    `repeats` are further marks of the same judge, NaN where it was not asked again.
    """

    mark: Floats
    label: Floats
    source: Ints
    repeats: tuple[Floats, ...] = ()

    def only(self, rows: Ints) -> JudgedRows:
        """Return some of the rows."""
        repeats = tuple(one[rows] for one in self.repeats)
        return JudgedRows(
            mark=self.mark[rows], label=self.label[rows], source=self.source[rows], repeats=repeats
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigures:
    """How a judge's marks go with people's labels on the rows that have both."""

    sensitivity: Figure
    specificity: Figure
    agreement: Figure
    kappa: float
    """Cohen's kappa: 0 is what chance agrees on, 1 is always the same."""
    marked: Figure
    """The share of all rows that the judge marks wrong."""
    labelled: Figure
    """The share of the labelled rows that people call wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuality:
    """What a judge is worth: its figures, by segment too, the corrected rate, the labels saved."""

    figures: JudgeFigures
    segments: tuple[tuple[str, JudgeFigures], ...]
    repeated: Figure | None
    """The share of marks that a repeat gives again; None where there are no repeats."""
    rate: CorrectedRate
    saved: Figure
    """The share of labels saved if the judge marks very many rows."""

    @property
    def saves(self) -> bool:
        """Whether these labels show that the judge saves any."""
        return bool(self.saved.low)

    @property
    def verdict(self) -> str:
        """Say in a sentence what the judge is worth."""
        if self.saves:
            ends = span(self.saved.low or 0.0, self.saved.high or 0.0, whole_percent)
            return (
                f"This judge saves {whole_percent(self.saved.value)} of the labels ({ends}), where"
                " it marks very many rows."
            )
        return "These labels do not show that this judge saves any."


def measure_marks(
    rows: JudgedRows, segments: tuple[tuple[str, Ints], ...] = (), *, seed: int = 0
) -> JudgeQuality:
    """Hold marks against labels.

    Args:
        rows: The rows, labelled in part.
        segments: Names, and the rows of each.
        seed: Seed of the bootstrap behind the interval of the labels saved.

    Returns:
        Shares with 95 % intervals at the effective number of rows; the rate of wrong answers by
        `novarag.stats.corrected_rate`; the labels saved with a bootstrap interval over sources.
    """
    known = np.flatnonzero(~np.isnan(rows.label))
    sources = np.unique(rows.source[known]).size
    if sources < LEAST_SOURCES:
        raise ValueError(
            f"labels of {sources} sources say nothing about a judge; it takes {LEAST_SOURCES}"
        )
    return JudgeQuality(
        figures=_figures(rows),
        segments=tuple((name, _figures(rows.only(at))) for name, at in segments),
        repeated=_repeated(rows),
        rate=correct_rate(rows.mark, rows.label, rows.source),
        saved=_saved(rows.only(known), seed),
    )


def _figures(rows: JudgedRows) -> JudgeFigures:
    known = rows.only(np.flatnonzero(~np.isnan(rows.label)))
    wrong, same = known.label == 1, known.mark == known.label
    agreed = _share(same, known.source)
    chance = _agreed_by_chance(known)
    return JudgeFigures(
        sensitivity=_share(known.mark[wrong] == 1, known.source[wrong]),
        specificity=_share(known.mark[~wrong] == 0, known.source[~wrong]),
        agreement=agreed,
        kappa=(agreed.value - chance) / (1 - chance) if chance < 1 else float("nan"),
        marked=_share(rows.mark == 1, rows.source),
        labelled=_share(wrong, known.source),
    )


def _agreed_by_chance(known: JudgedRows) -> float:
    if not known.mark.size:
        return 1.0
    marked, labelled = float(known.mark.mean()), float(known.label.mean())
    return marked * labelled + (1 - marked) * (1 - labelled)


def _share(hits: np.ndarray[tuple[int], np.dtype[np.bool_]], source: Ints) -> Figure:
    """Return a share of rows with its interval by source."""
    at = np.unique(source, return_inverse=True)[1].ravel()
    counts = np.bincount(at).astype(np.float64)
    return clustered_share(np.bincount(at, hits).astype(np.float64), counts)


def _repeated(rows: JudgedRows) -> Figure | None:
    """Return how often a repeat of a mark says the same."""
    if not rows.repeats:
        return None
    asked = [~np.isnan(one) for one in rows.repeats]
    pairs = zip(rows.repeats, asked, strict=True)
    same = np.concatenate([one[there] == rows.mark[there] for one, there in pairs])
    return _share(same, np.concatenate([rows.source[a] for a in asked]))


def _saved(known: JudgedRows, seed: int) -> Figure:
    """Return the labels saved, with a bootstrap interval over sources."""
    from novarag.stats.figure import Figure

    at = np.unique(known.source, return_inverse=True)[1].ravel()
    count = int(at.max()) + 1
    columns = (np.ones(at.size), known.mark, known.label)
    sums = [np.bincount(at, of).astype(np.float64) for of in columns]
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(0, count, count) for _ in range(DRAWS)]
    found = [share_saved(*(one[pick] for one in sums)) for pick in drawn]
    low, high = np.quantile(found, [0.025, 0.975])
    value = share_saved(*sums)
    return Figure(value, float(min(low, value)), float(max(high, value)), known.mark.size)
