"""Say what results come to at another mix of groups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from novarag.formatting import fixed_percent
from novarag.report.page import plain
from novarag.report.words import number, span, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.metrics import MixedFigures

HEADLINES = ("accuracy", "overconfidence", "brier", "ece", "auroc")


def mixed_notes(mixed: MixedFigures, *, pooled: Sequence[str] = ()) -> list[str]:
    """Say the headline figures, what they are weighed to, and how many rows that is worth.

    `pooled` names the columns by which the rows could be told apart, and are not.
    """
    whose = f", every {' and '.join(pooled)} pooled" if pooled else ""
    parts = [
        f"{title_of(name)} {number(name, figure.value)}"
        + (f" ({span(name, figure)})" if span(name, figure) else "")
        for name, figure in ((n, mixed.figures[n]) for n in HEADLINES)
    ]
    shares = ", ".join(
        f"{kind} {fixed_percent(share)} (here {fixed_percent(mixed.found[kind])})"
        for kind, share in mixed.wanted.items()
    )
    lines = [
        f"Weighed to the mix of the profile{whose}: {'; '.join(parts)}.",
        f"That mix is {shares}. {mixed.rows:,} answers to {mixed.questions:,} questions are worth"
        f" {mixed.effective:,.0f} equal ones; the mix itself is taken as given.",
    ]
    if mixed.left_out:
        lines.append(
            f"{mixed.left_out:,} rows are not weighed: unread, ungraded, or of no kind in the mix."
        )
    return lines


def mixed_json(mixed: MixedFigures) -> str:
    """Return all weighed figures as JSON."""
    return json.dumps(plain(mixed), indent=1, allow_nan=False) + "\n"
