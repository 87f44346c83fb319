"""Something small to look at: a group of passages, a table of answers, pools to draw from."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.records import Passage, PassageGroup, Question
from novarag.seeding import rng_for
from novarag.taxonomy import GroupKind, PassageKind, Provenance

if TYPE_CHECKING:
    from random import Random

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


_BUILDINGS = {
    "lighthouse": "lamp", "bridge": "arch", "observatory": "dome", "aqueduct": "channel",
    "windmill": "sail", "library": "archive", "tramway": "depot", "theatre": "stage",
    "quarry": "crane", "orchard": "press", "foundry": "furnace", "harbour": "quay",
}  # fmt: skip
_PLACES = ("Brent", "Caldow", "Essing", "Farrow", "Holm", "Kelda", "Marrick", "Norwell")
_OPENED = ("opened in ", "took its first guests in ", "was ready at last in ", "dates from ")
_ASIDES = (
    "Sourdough rises slowly because wild yeast works slower than baker's yeast.",
    "A stitch is formed from two threads, one of which is carried by the needle.",
    "Curlers sweep the ice in front of the stone to make it run farther.",
)


def simulated_pools(*, seed: int = 0) -> list[PassageGroup]:
    """Return made-up questions, each with passages of every kind, to draw groups from."""
    return [
        _simulated_pool(place, building, part, rng_for(seed, place, building))
        for place in _PLACES
        for building, part in _BUILDINGS.items()
    ]


def simulated_questions(*, seed: int = 0) -> list[PassageGroup]:
    """Return made-up questions, each with its answer and its gold passage, to write noise for."""
    every_other = simulated_pools(seed=seed)[::2]
    return [replace(pool, passages=pool.passages[:1]) for pool in every_other]


def _simulated_pool(place: str, building: str, part: str, rng: Random) -> PassageGroup:
    years = rng.sample(range(1801, 1950), 3)
    year, wrong = str(years[0]), str(years[1])
    name = f"The {place} {building}"

    def about(said: str) -> str:
        fate = rng.choice(("admired", "repaired", "copied"))
        return f"{name} {said}. Its {part} was {fate} later."

    true = [about(phrase + year) for phrase in rng.sample(_OPENED, 3)]
    false = [about(phrase + wrong) for phrase in rng.sample(_OPENED, 2)]
    texts = [
        (PassageKind.GOLD, true[0], None, Provenance.ORIGINAL),
        (PassageKind.GOLD, true[1], year, None),
        (PassageKind.GOLD, true[2], year, None),
        (PassageKind.COUNTERFACTUAL, false[0], wrong, None),
        (PassageKind.COUNTERFACTUAL, false[1], wrong, None),
        (PassageKind.RELEVANT, about("is kept by volunteers"), None, None),
        (PassageKind.RELEVANT, about("appears in several novels"), None, None),
        *((PassageKind.IRRELEVANT, aside, None, None) for aside in _ASIDES),
    ]
    return PassageGroup(
        question=Question(
            id=f"{place}-{building}".lower(),
            text=f"When did the {place} {building} open?",
            answers=(year,),
        ),
        passages=tuple(
            Passage(text=text, kind=kind, claim=claim, provenance=made or Provenance.GENERATED)
            for kind, text, claim, made in texts
        ),
    )
