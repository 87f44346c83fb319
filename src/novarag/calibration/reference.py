"""What the answers looked like that a calibration was fitted on: what drift is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.calibration import percents
from novarag.seeding import seed_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.stats.arrays import Floats

GRADED = "graded answers"
"""What a reference is of, unless it says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReference:
    """Counts of answers by evidence state and stated whole percent, each of its own question.

    `of` says which answers they are. The empty text names answers without an evidence state.
    """

    counts: Mapping[str, Mapping[int, int]]
    of: str = GRADED

    @property
    def rows(self) -> int:
        """How many answers were counted."""
        return sum(sum(levels.values()) for levels in self.counts.values())

    def to_json(self, named: Mapping[str, str]) -> dict[str, Any]:
        """Lay the counts out as values of JSON; `named` says how states are called there."""
        counts = {
            named.get(state, state): {str(percent): n for percent, n in levels.items()}
            for state, levels in self.counts.items()
        }
        return {"of": self.of, "counts": counts}


def read_reference(content: Mapping[str, Any], named: Mapping[str, str]) -> DriftReference:
    """Read counts back; what is none raises `ValueError`."""
    counts = {
        named.get(state, state): {int(percent): int(n) for percent, n in levels.items()}
        for state, levels in content["counts"].items()
    }
    pairs = [pair for levels in counts.values() for pair in levels.items()]
    if any(not 0 <= percent <= 100 or n < 0 for percent, n in pairs):
        raise ValueError("a count of the reference is none")
    return DriftReference(counts=counts, of=str(content["of"]))


def count_reference(graded: GradedAnswers, *, seed: int = 0) -> DriftReference:
    """Count the answers that could be read, one a question, drawn by seed.

    Rows of one question depend on each other. Rows that were picked at unequal rates are thinned by
    coins to the lowest rate, so that the counts are of a simple random sample.
    """
    own_seed = seed_for(seed, "calibration", "reference")
    rng = np.random.default_rng(own_seed)
    weights = graded.weights
    most = weights[graded.read].max(initial=0.0)
    kept = np.flatnonzero(graded.read & (rng.random(len(graded)) * most < weights))
    order = rng.permutation(kept)
    chosen = order[np.unique(graded.question[order], return_index=True)[1]]
    of_state = {
        graded.state_name(s): chosen[graded.state[chosen] == s]
        for s in set(graded.state[chosen].tolist())
    }
    counts = {state: _by_percent(graded.confidence[of_state[state]]) for state in sorted(of_state)}
    return DriftReference(counts=counts)


def _by_percent(confidence: Floats) -> dict[int, int]:
    """Count confidences by whole percent."""
    values, counts = np.unique(percents(confidence), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
