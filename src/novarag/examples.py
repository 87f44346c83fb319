"""One small group to look at, for `novarag render` and the tutorials."""

from __future__ import annotations

from novarag.records import Passage, PassageGroup, Question
from novarag.taxonomy import PassageKind

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
