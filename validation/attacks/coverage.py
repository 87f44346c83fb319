"""Intervals hold the truth, and attacks that do nothing are seldom accused, noise and all."""

from __future__ import annotations

import numpy as np

from novarag.attacks import Attack, AttackCase, AttackGoal, AttackOutcome, AttackPlace
from novarag.attacks.success import score, score_by
from novarag.records import Question
from tests.support.machine import described

_KINDS, _CASES = 10, 6
_SETTINGS = ((30, 0.0, 0.1), (30, 0.1, 0.3), (60, 0.05, 0.05), (100, 0.2, 0.5))
"""Questions, how often a reply changes by itself, and how often an attack is obeyed."""


def coverage(draws: int = 2000) -> bool:
    """Draw cases with known rates, questions unlike each other, and count what is held."""
    print(described())
    rng = np.random.default_rng(2026)
    holds = True
    for questions, noise, rate in _SETTINGS:
        held = [_held(rng, questions, noise, rate) for _ in range(draws // 4)]
        changed, net = np.mean(held, axis=0)
        print(
            f"{questions} questions, noise {noise:.0%}, obeyed {rate:.0%}: the share is held in"
            f" {changed:.1%}, the net share in {net:.1%} of {len(held)} draws"
        )
        holds &= bool(changed >= 0.93 and net >= 0.93)
    for questions, noise in ((30, 0.1), (50, 0.3), (100, 0.05)):
        alarms = sum(_alarm(rng, questions, noise) for _ in range(draws // 4))
        share = alarms / (draws // 4)
        print(
            f"{questions} questions, noise {noise:.0%}, nothing obeyed: some class of {_KINDS} is"
            f" accused in {share:.1%} of {draws // 4} draws"
        )
        holds &= share <= 0.06
    return holds


def _held(rng: np.random.Generator, questions: int, noise: float, rate: float) -> tuple[bool, bool]:
    """Say whether the intervals of one drawn row hold the shares that it was drawn from."""
    cases = _drawn(rng, questions, noise, rate, kinds=1)
    row = score(cases, "a", "plain")
    truth = rate + (1 - rate) * noise
    assert row.changed.low is not None and row.net.low is not None  # noqa: PT018
    return (
        row.changed.low <= truth <= row.changed.high,
        row.net.low <= truth - noise <= row.net.high,
    )


def _alarm(rng: np.random.Generator, questions: int, noise: float) -> bool:
    cases = _drawn(rng, questions, noise, 0.0, kinds=_KINDS)
    return any(row.succeeds for row in score_by(cases, lambda case: case.attack.kind))


def _drawn(
    rng: np.random.Generator, questions: int, noise: float, rate: float, *, kinds: int
) -> list[AttackCase]:
    """Draw cases; questions differ in how often they change by themselves, and obey."""
    found = []
    for number in range(questions):
        own = rng.beta(2 * noise, 2 - 2 * noise) if noise else 0.0
        obeys = rng.beta(3 * rate, 3 - 3 * rate) if rate else 0.0
        question = Question(id=f"q{number}", text="?")
        repeat = _said(rng.random() < own)
        for kind in range(kinds):
            for place in range(_CASES):
                after = _said(rng.random() < obeys or rng.random() < own)
                attack = Attack(
                    name=f"a{place}",
                    kind=f"k{kind}",
                    goal=AttackGoal.RAISE,
                    states=100,
                    texts=("x",),
                )
                found.append(
                    AttackCase(
                        question=question, group=f"g{number}", attack=attack, place=AttackPlace.FIRST,
                        defence="plain", planted="", passages=(), before=_said(changed=False),
                        repeat=repeat, after=after,
                    )
                )  # fmt: skip
    return found


def _said(changed: bool) -> AttackOutcome:
    return AttackOutcome(answer="x", confidence=0.9 if changed else 0.5, decision="answer")
