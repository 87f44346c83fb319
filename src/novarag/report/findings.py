"""Which groups differ and what the pictures of a panel show, each in sentences with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.formatting import percent, span, whole_percent
from novarag.report.words import title_of
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.metrics import PairedDifference, Panel

SURE = 0.05
"""The corrected p-value under which a pair is said to differ."""


def differences_text(differences: Sequence[PairedDifference]) -> list[str]:
    """Say in which pairs each figure that was tested differs; no figure is left out."""
    by_metric: dict[str, list[PairedDifference]] = {}
    for d in differences:
        by_metric.setdefault(d.metric, []).append(d)
    if not by_metric:
        return []
    sure = {m: [d for d in pairs if d.p_holm < SURE] for m, pairs in by_metric.items()}
    none = [title_of(metric) for metric, found in sure.items() if not found]
    pairs = max(len(pairs) for pairs in by_metric.values())
    if pairs == 1:
        return [_of_one_pair([title_of(m) for m, found in sure.items() if found], none)]
    corrected = f"corrected for the {pairs:,} pairs of each figure by itself"
    if len(none) == len(sure):
        return [f"No two are shown to differ in {_listed(none, 'or')}, {corrected}."]
    said = [_pairs(m, found, len(by_metric[m])) for m, found in sure.items() if found]
    said += [f"{_listed(none)} none"] if none else []
    return [f"Pairs that differ by more than chance, {corrected}: {'; '.join(said)}."]


def _of_one_pair(found: Sequence[str], none: Sequence[str]) -> str:
    if not found:
        return f"The two are not shown to differ in {_listed(none, 'or')}."
    rest = f", and are not shown to in {_listed(none, 'or')}" if none else ""
    return (
        f"The two differ by more than chance in {_listed(found)}{rest} (each figure tested by"
        " itself)."
    )


def _pairs(metric: str, sure: Sequence[PairedDifference], pairs: int) -> str:
    surest = min(sure, key=lambda d: (d.p, -abs(d.figure.value)))
    names = " and ".join(plain_text(name, longest=60) for name in (surest.one, surest.other))
    lead = "" if len(sure) == 1 else "most surely "
    return f"{title_of(metric)} {len(sure):,} of {pairs:,} ({lead}{names})"


def _listed(titles: Sequence[str], word: str = "and") -> str:
    if len(titles) == 1:
        return titles[0]
    return f"{', '.join(titles[:-1])} {word} {titles[-1]}"


def reliability_finding(panel: Panel) -> str:
    """Say what the fullest bin of stated confidences delivers."""
    if panel.bins is None:
        return ""
    bins = panel.bins
    at = int(np.argmax(bins.count))
    share = float(bins.count[at] / np.sum(bins.count))
    return (
        f"Where it states {span(bins.edge[at], bins.edge[at + 1], whole_percent)},"
        f" {whole_percent(bins.accuracy[at])} are right"
        f" ({whole_percent(share)} of the answers are there)"
    )


def risk_finding(panel: Panel) -> str:
    """Say what is gained by keeping the surer half, or what is nearest to it."""
    if panel.curve is None:
        return ""
    curve = panel.curve
    error = 1 - panel.figures["accuracy"].value
    at = int(np.argmin(np.abs(curve.coverage - 0.5)))
    if curve.coverage[at] > 0.995:
        return f"No threshold withholds a part of the answers; {whole_percent(error)} are wrong"
    return (
        f"At {percent(curve.threshold[at])} or more {whole_percent(curve.coverage[at])} of the"
        f" answers are left, {whole_percent(curve.risk[at])} of them wrong instead of"
        f" {whole_percent(error)}"
    )
