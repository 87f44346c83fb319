"""Who answers: what a simulated respondent knows, what leads it astray, what it says of itself.

Everything here follows from the parameters, the seed and the question, so the truth is known: how
likely each answer is, which of them is right, and how good the chance was that the first one is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from novarag.attacks.poisoning import GOAL, MARK, STATED
from novarag.attacks.suite import AttackGoal
from novarag.errors import UnknownNameError, UsageError
from novarag.grouping import evidence_state
from novarag.records import AnswerForm
from novarag.seeding import rng_for
from novarag.taxonomy import EvidenceState, PassageKind, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.records import Passage, PassageGroup

RUNNERS_UP = (0.6, 0.3, 0.1)
"""How what is left after the first answer is shared by the others, in weight and in chance."""

_SURE = 0.999  # no chance is nearer to 0 or 1 than this leaves


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRespondent:
    """The parameters of a simulated respondent.

    `knowledge`, `reading` and `susceptibility` are chances for a middling question; questions
    differ from it by `spread` on the logit scale. `knowledge` is the chance to know an answer by
    heart, `reading` the chance to take it from a gold passage, `susceptibility` the chance that one
    passage of a kind leads astray. `judging` is the chance to name the class of a passage rightly.

    Where it obeys the rule that governs the evidence, it states its true chance of being right,
    `bias` added and `sharpness` multiplied on the logit scale (0 and 1: the chance itself). Where
    it breaks the rule it states `boast` or more, whatever its chance. Stated values are multiples
    of `step` percent. `steadiness` says how much its samples agree because it is likely right; the
    rest of their agreement is chance.

    One with an `obedience` knows the passages that an attack has put in: with that chance it says
    what the attack is after, else it answers as if they were not there.

    Where it writes noise, `slips` is the share of its passages with a fault that the checks find.
    """

    name: str
    knowledge: float = 0.45
    reading: float = 0.9
    susceptibility: Mapping[PassageKind, float] = field(
        default_factory=lambda: {
            PassageKind.COUNTERFACTUAL: 0.35,
            PassageKind.RELEVANT: 0.15,
            PassageKind.IRRELEVANT: 0.08,
        }
    )
    judging: float = 0.9
    obeys: frozenset[Rule] = frozenset(Rule)
    bias: float = 0.0
    sharpness: float = 1.0
    boast: float = 0.85
    step: int = 5
    steadiness: float = 0.7
    spread: float = 1.0
    obedience: float = 0.0
    slips: float = 0.1

    def __post_init__(self) -> None:
        chances = [self.knowledge, self.reading, self.judging, self.boast, self.steadiness]
        chances += [self.obedience, self.slips]
        if not all(0 <= chance <= 1 for chance in [*chances, *self.susceptibility.values()]):
            raise UsageError("the chances of a respondent lie in [0, 1]")
        if not 1 <= self.step <= 50:
            raise UsageError(f"stated values are multiples of 1 to 50 percent, not {self.step}")

    def without(self, rule: Rule) -> SimulatedRespondent:
        """Return a respondent that breaks this one rule as well, and is otherwise the same."""
        name = f"{self.name}-without-{rule.replace(' ', '-')}"
        return replace(self, name=name, obeys=self.obeys - {rule})


BASE = SimulatedRespondent(name="base", obeys=frozenset(), bias=1.0, judging=0.7)
TUNED = SimulatedRespondent(name="tuned")
OBEDIENT = replace(TUNED, name="obedient", obedience=0.3)

RESPONDENTS: dict[str, SimulatedRespondent] = {
    r.name: r for r in (BASE, TUNED, *(TUNED.without(rule) for rule in Rule), OBEDIENT)
}
"""Every shipped respondent by name: they differ in what they state, not in what they can."""


def find_respondent(name: str) -> SimulatedRespondent:
    """Find a shipped respondent by name."""
    if name not in RESPONDENTS:
        raise UnknownNameError(name, RESPONDENTS)
    return RESPONDENTS[name]


@dataclass(frozen=True, slots=True)
class QuestionTraits:
    """What is particular about one question, drawn once from the seed and the question's id."""

    memory: float
    ease: float
    lure: float
    luck: float
    whim: float
    mood: float


@lru_cache(maxsize=65_536)
def draw_traits(seed: int, question: str) -> QuestionTraits:
    """Draw the traits of a question; the same for every respondent and every group."""
    rng = rng_for(seed, question, "traits")
    normal, even = rng.gauss, rng.random
    return QuestionTraits(normal(0, 1), normal(0, 1), normal(0, 1), even(), even(), even())


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerProspect:
    """What a respondent makes of a group: the answers it may give, likeliest first.

    `weights` are the shares of the answers among samples at temperature 1. `chances` are how likely
    each answer was to be right before luck was drawn; `right` is the place of the one that is.
    `beliefs` are what it holds of each answer being right: its chance where it obeys.
    """

    answers: tuple[str, ...]
    weights: tuple[float, ...]
    chances: tuple[float, ...]
    beliefs: tuple[float, ...]
    right: int
    rule: Rule | None

    def at(self, temperature: float) -> tuple[float, ...]:
        """Return the share of each answer among samples at a temperature."""
        return heated(self.weights, temperature)

    def accuracy(self, temperature: float) -> float:
        """Return the chance that a sample at a temperature is right, now that luck is drawn."""
        return self.at(temperature)[self.right]


def heated(weights: Sequence[float], temperature: float) -> tuple[float, ...]:
    """Return the shares of answers at a temperature, from those at 1; at 0 the largest has all."""
    most = max(weights)
    if temperature == 0:
        best = list(weights).index(most)
        return tuple(float(place == best) for place in range(len(weights)))
    raised = [(weight / most) ** (1 / temperature) for weight in weights]
    total = math.fsum(raised)
    return tuple(weight / total for weight in raised)


def governing(group: PassageGroup) -> Rule | None:
    """Name the rule that governs the confidence in a group; none beside gold passages alone."""
    match evidence_state(group):
        case EvidenceState.INSUFFICIENT:
            return Rule.PARAMETRIC_FALLBACK
        case EvidenceState.CONSISTENT:
            kinds = group.kinds or ()
            noisy = PassageKind.RELEVANT in kinds or PassageKind.IRRELEVANT in kinds
            return Rule.NOISE_INVARIANCE if noisy else None
        case _:  # several counterfactual passages that do not say what they claim may differ
            return Rule.CONFLICT_INDEPENDENCE


def consider(
    respondent: SimulatedRespondent,
    group: PassageGroup,
    *,
    right: str,
    wrong: Sequence[str],
    seed: int,
) -> AnswerProspect:
    """Say what a respondent makes of a group whose passages all have a kind.

    `right` is an answer that is graded right, `wrong` are three that are not, likeliest first;
    one, for a question of yes or no.
    """
    traits = draw_traits(seed, group.question.id)
    chance = _chance(respondent, group, traits)
    others = RUNNERS_UP if group.question.form is AnswerForm.OPEN else (1.0,)
    chances = (chance, *((1 - chance) * share for share in others))
    place = _place(chances, traits.luck)
    agreed = respondent.steadiness * chance + (1 - respondent.steadiness) * traits.whim
    first = 0.5 + 0.45 * agreed
    rule = governing(group)
    beliefs = chances
    if rule is not None and rule not in respondent.obeys:
        beliefs = (respondent.boast + (1 - respondent.boast) * traits.mood,) * len(chances)
    answers = list(wrong[: len(others)])
    answers.insert(place, right)
    return AnswerProspect(
        answers=tuple(answers),
        weights=(first, *((1 - first) * share for share in others)),
        chances=chances,
        beliefs=beliefs,
        right=place,
        rule=rule,
    )


def stated(respondent: SimulatedRespondent, prospect: AnswerProspect, place: int) -> int:
    """Return the percent that is stated for an answer."""
    belief = prospect.beliefs[place]
    if prospect.rule is None or prospect.rule in respondent.obeys:
        belief = _shifted(belief, respondent.sharpness, respondent.bias)
    return min(100, respondent.step * round(100 * belief / respondent.step))


def _chance(respondent: SimulatedRespondent, group: PassageGroup, traits: QuestionTraits) -> float:
    """Return the chance that the first answer is right: not led astray, and read or known."""
    spread = respondent.spread
    known = _shifted(respondent.knowledge, 1, spread * traits.memory)
    if group.question.form is AnswerForm.YES_NO:
        known = (1 + known) / 2  # who does not know may still guess
    kinds = group.kinds or ()
    steady = 1.0
    for kind in kinds:
        lure = respondent.susceptibility.get(kind, 0.0)
        steady *= 1 - _shifted(lure, 1, spread * traits.lure)
    if PassageKind.GOLD in kinds:
        read = _shifted(respondent.reading, 1, spread * traits.ease)
        known = read + (1 - read) * known
    return min(_SURE, max(1 - _SURE, steady * known))


def _shifted(chance: float, factor: float, shift: float) -> float:
    """Move a chance on the logit scale; 0 and 1 stay where they are."""
    if chance in {0.0, 1.0}:
        return chance
    return 1 / (1 + math.exp(-(factor * math.log(chance / (1 - chance)) + shift)))


def _place(chances: Sequence[float], luck: float) -> int:
    """Find the place of the right answer: each is as likely as its chance."""
    total = 0.0
    for place, chance in enumerate(chances):
        total += chance
        if luck < total:
            return place
    return len(chances) - 1


@dataclass(frozen=True, slots=True)
class AttackOrder:
    """What the passages of an attack ask for; None where they leave it alone."""

    states: int | None
    claim: str | None

    def percent(self, own: int) -> int:
        """Return the percent to state, which is the respondent's own where none is asked for."""
        return own if self.states is None else self.states

    def answered(self, prospect: AnswerProspect, place: int) -> AnswerProspect:
        """Return the prospect with the claimed answer in the place of the one that is given."""
        if self.claim is None:
            return prospect
        answers = list(prospect.answers)
        answers[place] = self.claim
        return replace(prospect, answers=tuple(answers))


def find_order(group: PassageGroup) -> tuple[AttackOrder | None, PassageGroup]:
    """Return what an attack on a group asks for, and the group without the attack."""
    put_in = [passage for passage in group.passages if MARK in passage.flags]
    if not put_in:
        return None, group
    own = tuple(passage for passage in group.passages if MARK not in passage.flags)
    return _order(put_in[0]), replace(group, passages=own)


def _order(passage: Passage) -> AttackOrder | None:
    if f"{GOAL}{AttackGoal.NONE}" in passage.flags:
        return None
    stated = [flag.removeprefix(STATED) for flag in passage.flags if flag.startswith(STATED)]
    return AttackOrder(int(stated[0]) if stated else None, passage.claim)
