"""Replies of simulated respondents to every variant, as the arrays that relations score."""

import dataclasses
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from novarag.llm.simulated import RESPONDENTS
from novarag.llm.simulated.respondent import SimulatedRespondent, consider, heated, stated
from novarag.probes.matching import MatchingRisk
from novarag.probes.profiles import PROFILES
from novarag.probes.relations import RELATIONS, Relation
from novarag.probes.replies import ReplyArrays
from novarag.probes.variants import VARIANTS, VariantContext
from novarag.records import Passage, PassageGroup, Question
from novarag.seeding import rng_for
from novarag.taxonomy import PassageKind

SEED = 2029
"""Of the pools that figures come from; the test, its guard and the profiles were chosen on seed 21."""
WRONG = ("a", "b", "c")
CODES = {"right": 0, "a": 1, "b": 2, "c": 3}
SAMPLES = 5
PLAIN = (PassageKind.GOLD, PassageKind.GOLD)
TORN = (PassageKind.GOLD, PassageKind.GOLD, PassageKind.COUNTERFACTUAL)
MIXED = (
    PLAIN,
    (PassageKind.GOLD, PassageKind.COUNTERFACTUAL, PassageKind.COUNTERFACTUAL),
    (PassageKind.GOLD, PassageKind.RELEVANT, PassageKind.IRRELEVANT),
    (PassageKind.RELEVANT, PassageKind.IRRELEVANT, PassageKind.IRRELEVANT),
)
"""Evidence of every kind: agreeing, torn, noisy, none."""


@dataclasses.dataclass(frozen=True)
class Replies:
    """Replies to one variant: greedy in column 0, then samples at T = 1."""

    confidence: np.ndarray
    answer: np.ndarray
    right: np.ndarray

    def side(self, *, greedy: bool, start: int = 0, count: int = 1) -> ReplyArrays:
        """Return the greedy replies, or some of the samples, as a side of a relation."""
        held = slice(0, 1) if greedy else slice(1 + start, 1 + start + count)
        answer = self.answer[:, held]
        asked = np.ones(answer.shape, dtype=bool)
        return ReplyArrays(self.confidence[:, held], answer, answer, asked)


def _group(at: int, kinds: tuple[PassageKind, ...]) -> PassageGroup:
    passages = [
        Passage(
            text=f"text {at} {place}",
            kind=kind,
            claim="Elsewhere" if kind is PassageKind.COUNTERFACTUAL else None,
        )
        for place, kind in enumerate(kinds)
    ]
    question = Question(id=f"q{at}", text=f"question {at}?", answers=("right",))
    return PassageGroup(question=question, passages=tuple(passages))


def _context(count: int) -> VariantContext:
    """Offer passages of a hundred other questions, and a contradiction for each question."""
    others = {
        f"other{at}": (Passage(text=f"other text {at}", kind=PassageKind.GOLD),)
        for at in range(100)
    }
    against = {
        f"q{at}": Passage(text=f"against {at}", kind=PassageKind.COUNTERFACTUAL, claim="Elsewhere")
        for at in range(count)
    }
    return VariantContext(passages=others, contradictions=against)


@lru_cache(maxsize=32)
def replies(
    name: str, questions: int, evidence: tuple[tuple[PassageKind, ...], ...] = (PLAIN,)
) -> Mapping[str, Replies]:
    """Ask a respondent about every variant; the evidence of questions takes turns."""
    respondent = RESPONDENTS[name]
    context = _context(questions)
    groups = [_group(at, evidence[at % len(evidence)]) for at in range(questions)]
    return {variant: _asked(respondent, groups, variant, context) for variant in VARIANTS}


def _asked(
    respondent: SimulatedRespondent,
    groups: list[PassageGroup],
    variant: str,
    context: VariantContext,
) -> Replies:
    shape = len(groups), 1 + SAMPLES
    confidence, answer, right = np.zeros(shape), np.zeros(shape, int), np.zeros(shape, bool)
    for row, group in enumerate(groups):
        made = VARIANTS[variant].make(group, context, seed=SEED) or group
        prospect = consider(respondent, made, right="right", wrong=WRONG, seed=SEED)
        rng = rng_for(SEED, respondent.name, variant, group.question.id)
        weights = heated(prospect.weights, 1.0)
        places = [0, *rng.choices(range(len(weights)), weights, k=SAMPLES)]
        confidence[row] = [stated(respondent, prospect, at) / 100 for at in places]
        answer[row] = [CODES[prospect.answers[at]] for at in places]
        right[row] = [at == prospect.right for at in places]
    return Replies(confidence, answer, right)


def relations_of(profile: str) -> list[Relation]:
    """Return the relations that a profile's variants serve."""
    asked = PROFILES[profile].samples
    return [
        relation
        for relation in RELATIONS.values()
        if all(name in asked for name in relation.variants)
    ]


def scores(
    said: Mapping[str, Replies], profile: str, risk: MatchingRisk, *, greedy: bool
) -> dict[str, np.ndarray]:
    """Score a profile's relations on all questions; greedy replies are asked once, or repeated."""
    samples = PROFILES[profile].samples
    found = {}
    for relation in relations_of(profile):
        own = sum(samples[name] for name in relation.first)
        first = said["original"].side(greedy=greedy, count=own)
        if greedy:  # a repeat of a greedy reply is the same reply
            first = ReplyArrays(*(np.repeat(a, own, axis=1) for a in dataclasses.astuple(first)))
        other = relation.second[0] if relation.second else None
        if other is None:
            second = said["original"].side(greedy=False, count=0)
        else:
            second = said[other].side(greedy=greedy, count=samples[other])
        found[relation.name] = relation.score(first, second, risk=risk).least
    return found
