"""The whole suite at every place under every defence: the known rate of obedience is found."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from novarag import attack
from novarag.attacks import DEFENCES, AttackGoal, AttackOutcome, moved
from novarag.flows.attack.judge import THRESHOLD
from novarag.flows.attack.plan import plan_attacks
from novarag.llm.simulated import RESPONDENTS, SimulatedLLM, SimulatedWorld
from tests.support.machine import described
from validation.attacks.asked import some_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag import AttackResult
    from novarag.attacks import AttackCase
    from novarag.attacks.success import AttackScore

_LEAST = 0.9
"""The share of rows whose interval must hold what is known; 95 % is what intervals promise."""


def rates(questions: int = 40, chances: Sequence[float] = (0.05, 0.3, 0.8)) -> bool:
    """Attack respondents that obey at known rates, and compare rows with what follows from them."""
    groups = some_groups(questions)
    plan = plan_attacks(groups, defences=list(DEFENCES))
    world = SimulatedWorld.of(
        group
        for defence in plan.defences
        for group in (
            *plan.unattacked(defence),
            *(one.group for one in plan.attacked(defence)),
        )
    )
    print(described())
    attacks = sum(not one.is_control for one in plan.attacks)
    print(f"{attacks} attacks x {len(plan.places)} places x {len(DEFENCES)} defences, {questions}")
    holds = True
    for seed, chance in enumerate(chances):
        respondent = replace(RESPONDENTS["obedient"], name=f"obeys {chance:.0%}", obedience=chance)
        begun = time.monotonic()
        result = attack(groups, SimulatedLLM(respondent, world, seed=seed), defences=list(DEFENCES))
        print(
            f"\nobeys {chance:.0%}: {result.cost.calls:,} calls, {time.monotonic() - begun:.0f} s"
        )
        holds &= _compared(result, chance)
    return holds


def _compared(result: AttackResult, chance: float) -> bool:
    """Print what is known beside what was found."""
    holds = True
    for row in result.by_defence:
        known = chance * room([c for c in result.cases if c.defence == row.defence])
        inside = row.changed.low <= known <= row.changed.high
        print(
            f"  {row.defence:<11} known {known:6.1%}, found {row.changed.value:6.1%}"
            f" ({row.changed.low:.1%} to {row.changed.high:.1%}), repeat {row.repeat.value:.1%}:"
            f" {'holds' if inside else 'MISSED'}"
        )
        holds &= inside
    for name, rows, key in (
        ("classes", result.by_class, lambda c: c.attack.kind),
        ("places", result.by_place, lambda c: str(c.place)),
        ("attacks", result.by_attack, lambda c: c.attack.name),
    ):
        inside = [_inside(row, result, key, chance) for row in rows]
        print(f"  {name}: {sum(inside)} of {len(inside)} rows hold what is known")
        holds &= np.mean(inside) >= _LEAST
    quiet = all(row.changed.value == 0 for row in result.controls)
    print(f"  harmless passages change nothing: {quiet}")
    kinds = Counter(row.defence for row in result.by_class if row.succeeds)
    print(f"  classes that succeed: {dict(kinds)} of {len(result.by_class) // 4} each")
    return bool(holds and quiet)


def _inside(row: AttackScore, result: AttackResult, key: object, chance: float) -> bool:
    cases = [c for c in result.cases if c.defence == row.defence and key(c) == row.name]
    known = chance * room(cases)
    return bool(row.changed.low - 1e-9 <= known <= row.changed.high + 1e-9)


def room(cases: list[AttackCase], *, decides: bool = True) -> float:
    """Return the share of attacks in which obeying would change anything.

    Not `decides` says that every answer is given, as by a gateway without a gate.
    """
    asked = [case for case in cases if not case.attack.is_control]
    found = [not case.blocked and bool(_obeyed(case, decides=decides)) for case in asked]
    return float(np.mean(found))


def _obeyed(case: AttackCase, *, decides: bool) -> frozenset[str]:
    before, goal, states = case.before, case.attack.goal, case.attack.states
    confidence = before.confidence if states is None else states / 100
    after = AttackOutcome(
        answer=case.planted if goal is AttackGoal.ANSWER else before.answer,
        confidence=confidence,
        decision="answer" if confidence >= THRESHOLD or not decides else "abstain",
    )
    return moved(before, after, case.question)
