"""A made-up log: questions with passages, put to a simulated model that is always sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.calibration.graded_answers import AnswerSource
from novarag.flows.answerer import Answerer
from novarag.grouping import Mix
from novarag.llm.simulated import SimulatedLLM, SimulatedRespondent, SimulatedWorld
from novarag.records import Passage, PassageGroup, Question
from novarag.seeding import rng_for
from novarag.strategies import NOVA
from novarag.taxonomy import Grade, PassageKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars import DataFrame

    from novarag.scoring import Answer

BOASTER = SimulatedRespondent(
    name="boaster",
    obeys=frozenset(),
    reading=0.99,
    knowledge=0.15,
    susceptibility={PassageKind.COUNTERFACTUAL: 0.5},
    judging=0.99,
    spread=0.5,
)
"""It reads well, knows little, is led astray by every second contradiction, and boasts of all."""

SOURCE = AnswerSource(model=f"simulated:{BOASTER.name}", prompt=NOVA.template.hash)
"""Whose answers the log holds, so that what is made from it is refused for any other model."""

QUESTIONS = 456
"""Questions in the log: enough for a gate at one wrong answer in ten."""

# Heads and tails of places, buildings, and first and last names of who built them.
_HEADS = ("Alder", "Bram", "Crane", "Dun", "Elm", "Fox", "Grim", "Hazel", "Ives", "Kel")
_TAILS = ("by", "dale", "ford", "mere", "wick", "stow")
_BUILDINGS = ("lighthouse", "bridge", "observatory", "aqueduct", "windmill", "library", "tramway",
              "theatre")  # fmt: skip
_FIRST = ("Ada", "Bo", "Clara", "Dora", "Edgar", "Flora", "Karl", "Lena", "Otto", "Vera")
_LAST = ("Ashdown", "Birkett", "Corliss", "Denby", "Farrant", "Morley", "Quill", "Tavener")
_BUILT = (
    "The {what} was built by {who} in the course of four summers.",
    "According to the town's own chronicle, {who} built the {what}.",
    "{who} built the {what}, which was paid for by a lottery.",
)
_BESIDE = (
    "The {what} appears in several novels and on one banknote.",
    "The {what} is kept by volunteers, who paint it every spring.",
)
_APART = (
    "Sourdough rises slowly because wild yeast works slower than baker's yeast.",
    "A stitch is formed from two threads, one of which is carried by the needle.",
    "Curlers sweep the ice in front of the stone to make it run farther.",
)
MIXES = {
    "agree": Mix(gold=2, relevant=1),
    "contradict": Mix(gold=1, counterfactual=1, irrelevant=1),
    "junk": Mix(irrelevant=3),
}
"""What stands beside the questions of the log, each a third of them."""


def made_up_pools() -> list[PassageGroup]:
    """Make up questions, each with passages of every kind."""
    places = (head + tail for head in _HEADS for tail in _TAILS)
    return [_make_pool(f"{place} {building}") for place in places for building in _BUILDINGS]


def _make_pool(what: str) -> PassageGroup:
    rng = rng_for(0, "demo", what)
    right, wrong = (
        f"{first} {last}"
        for first, last in zip(rng.sample(_FIRST, 2), rng.sample(_LAST, 2), strict=True)
    )
    texts = [
        *((PassageKind.GOLD, text.format(what=what, who=right), right) for text in _BUILT),
        *(
            (PassageKind.COUNTERFACTUAL, text.format(what=what, who=wrong), wrong)
            for text in _BUILT
        ),
        *((PassageKind.RELEVANT, text.format(what=what), None) for text in _BESIDE),
        *((PassageKind.IRRELEVANT, text, None) for text in _APART),
    ]
    return PassageGroup(
        question=Question(id=what, text=f"Who built the {what}?", answers=(right,)),
        passages=tuple(Passage(text=text, kind=kind, claim=claim) for kind, text, claim in texts),
    )


def made_up_groups() -> list[PassageGroup]:
    """Return the questions of the log, a third each beside agreement, contradiction and junk."""
    mixes = list(MIXES.values())
    return [
        mixes[number % len(mixes)].draw(pool.question, pool.passages)
        for number, pool in enumerate(made_up_pools()[:QUESTIONS])
    ]


def open_boaster(groups: Sequence[PassageGroup]) -> SimulatedLLM:
    """Open the simulated model, which knows these groups and nothing else."""
    return SimulatedLLM(BOASTER, SimulatedWorld.of(groups))


async def answer_groups(groups: Sequence[PassageGroup]) -> list[Answer]:
    """Ask the simulated model each group once, and leave its confidences as they are stated."""
    async with Answerer(open_boaster(groups)) as answerer:
        return [await answerer.answer_group_async(group) for group in groups]


def log_table(answers: Sequence[Answer]) -> DataFrame:
    """Lay answers out as the table that a log of a real system would be."""
    import polars as pl

    return pl.DataFrame(
        {
            "question": [one.question for one in answers],
            "answer": [one.answer for one in answers],
            "gold": [one.trial.group.question.answers[0] for one in answers],
            "confidence": [one.stated for one in answers],
            "evidence": [None if one.evidence is None else str(one.evidence) for one in answers],
            "correct": [one.trial.grade is Grade.RIGHT for one in answers],
        }
    )
