"""Something small to look at: one group of passages, and a simulated table of answers."""

from __future__ import annotations

import csv
import io

from novarag.grouping import rng_for
from novarag.records import Passage, PassageGroup, Question
from novarag.taxonomy import GroupKind, PassageKind

EXAMPLE_GROUP = PassageGroup(
    question=Question(
        id="lighthouse", text="In which year was the Brent Rock lighthouse lit?", answers=("1871",)
    ),
    passages=(
        Passage(
            text="After four years of work on the reef, the keepers lit the Brent Rock lighthouse"
            " for the first time on 3 May 1871.",
            kind=PassageKind.GOLD,
        ),
        Passage(
            text="The Brent Rock lighthouse first shone in 1884, when the harbour board had at last"
            " paid for its lens.",
            kind=PassageKind.COUNTERFACTUAL,
            claim="1884",
        ),
        Passage(
            text="Sourdough bread rises slowly because wild yeast works slower than baker's yeast.",
            kind=PassageKind.IRRELEVANT,
        ),
    ),
)

_RIGHT = {GroupKind.CONSISTENT: 0.8, GroupKind.COUNTERFACTUAL: 0.45, GroupKind.IRRELEVANT: 0.35}


def simulated_answers(questions: int = 240, *, seed: int = 0) -> str:
    """Return a CSV of simulated answers: one system always sure, one that heeds its passages.

    Nobody asked a model for these; they are there to try `novarag measure` on.
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["question", "system", "passages", "confidence", "correct"])
    for i in range(questions):
        rng = rng_for(seed, str(i))
        kind = list(GroupKind)[i % 3]
        luck = rng.random()
        for system, stated in (
            ("always sure (simulated)", rng.choice((0.85, 0.9, 0.95, 0.95, 1.0))),
            ("heeds passages (simulated)", round(_RIGHT[kind] + rng.choice((-0.15, 0, 0.1)), 2)),
        ):
            chance = stated if system.startswith("heeds") else _RIGHT[kind]
            table.writerow([f"q{i:03}", system, kind, stated, int(luck < chance)])
    return out.getvalue()
