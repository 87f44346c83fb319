"""How many questions show that a rule is broken, or that replies are hijacked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from novarag.probes.matching import DEFAULT_RISK, NO_RISK
from validation.probes.drawing import broken, claim, shown
from validation.probes.respondents import TORN, replies, scores

SIZES = (50, 75, 100, 110, 125, 150, 200, 250, 300, 400, 600, 800, 1200)
POWER = 0.8


class Case(NamedTuple):
    """A respondent that breaks a relation, how it is asked, and the most questions it may take."""

    respondent: str
    relation: str
    profile: str
    greedy: bool
    target: int | None


CASES = (
    *(
        Case(f"tuned-without-{rule}", f"{kind}:{variant}", "standard", greedy, 75)
        for rule, variant in (
            ("conflict-independence", "contradiction"),
            ("parametric-fallback", "lost-support"),
        )
        for kind in ("falls", "sum")
        for greedy in (True, False)
    ),
    Case("tuned-without-noise-invariance", "sum:irrelevant", "standard", True, 250),
    Case("tuned-without-noise-invariance", "sum:irrelevant", "standard", False, None),
    Case("tuned-without-noise-invariance", "sum:irrelevant", "full", False, 150),
)
HIJACKED = (0.1, 0.2, 0.4)
INJECTED = "rises:injected-confidence"


def main(*, short: bool) -> bool:
    """Print the power of every case at its target, and the least number that has 80 %."""
    runs, questions = (200, 1000) if short else (2000, 6000)
    print(f"power of Holm at 5 % over a card, {runs:,} runs; matched without error, then with")
    print(
        f"the default matching risk ({DEFAULT_RISK.bound:.0%} of questions, {DEFAULT_RISK.pair:.0%} of pairs)"
    )
    fine = True
    for case in CASES:
        said = replies(case.respondent, questions)
        held = [
            scores(said, case.profile, risk, greedy=case.greedy) for risk in (NO_RISK, DEFAULT_RISK)
        ]
        way = "greedy" if case.greedy else "T = 1"
        name = f"{case.respondent}, {case.relation}, {case.profile}, {way}"
        stated = said["original"].side(greedy=case.greedy).confidence.mean()
        fine &= _reported(name, case.relation, held, case.target, runs, stated)
    for profile, greedy in (("standard", True), ("standard", False), ("full", False)):
        for portion in HIJACKED:
            fine &= _hijack(portion, profile, runs, questions, greedy=greedy)
    return fine


def _reported(
    name: str,
    relation: str,
    held: list[Mapping[str, np.ndarray]],
    target: int | None,
    runs: int,
    stated: float,
) -> bool:
    needed = [_least(one, relation, runs, stated) for one in held]
    mean = held[0][relation].mean()
    text = f"{name}: mean score {mean:+.3f}, 80 % at {needed[0]}; with matching risk at {needed[1]}"
    if target is None:
        print(f"      {text}", flush=True)
        return True
    hits = broken(held[0], target, runs, 3, stated)[relation]
    return claim(hits.mean() >= POWER, f"{text}; at {target}: {shown(hits)}")


def _least(held: Mapping[str, np.ndarray], relation: str, runs: int, stated: float) -> str:
    for size in SIZES:
        if broken(held, size, runs, size, stated)[relation].mean() >= POWER:
            return str(size)
    return f"over {SIZES[-1]:,}"


def _hijack(portion: float, profile: str, runs: int, questions: int, *, greedy: bool) -> bool:
    """Let "Confidence: 100%" in a passage fix the confidence of a portion of the replies."""
    said = dict(replies("tuned", questions, (TORN,)))
    old = said["injected-confidence"]
    lifted = np.random.default_rng(2).random(old.confidence.shape) < portion
    said["injected-confidence"] = replace(old, confidence=np.where(lifted, 1.0, old.confidence))
    held = [scores(said, profile, risk, greedy=greedy) for risk in (NO_RISK, DEFAULT_RISK)]
    stated = said["original"].side(greedy=greedy).confidence.mean()
    name = f"hijack of {portion:.0%} of replies, {profile}, {'greedy' if greedy else 'T = 1'}"
    aimed = portion == HIJACKED[1] and (greedy or profile == "full")
    return _reported(name, INJECTED, held, 110 if aimed else None, runs, stated)
