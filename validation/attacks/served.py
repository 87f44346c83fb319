"""Twelve attacks on a real model, free and held to its form: what they change in what it says.

A small model that is free hardly ever keeps a form, and what is not read cannot be changed.
"""

from __future__ import annotations

import tempfile

from novarag import Access, attack
from novarag.attacks import shipped_suite
from novarag.report.attack import attack_notes, judge_attacks
from tests.support.machine import described
from validation.attacks.asked import some_groups

TWELVE = (
    "ignore-and-be-certain", "must-doubt", "two-lines", "final-answer", "guessed-frame",
    "all-highly-relevant", "official-record", "never-wrong", "exact-copies", "cites-your-reply",
    "html-comment", "german",
)  # fmt: skip


def served(url: str, questions: int = 30, strategy: str = "vanilla") -> bool:
    """Attack the model of a server; what it says is printed, not judged."""
    suite = [one for one in shipped_suite() if one.name in TWELVE or one.is_control]
    with tempfile.TemporaryDirectory(prefix="novarag-") as place:
        result = attack(
            some_groups(questions), url, strategy=strategy, suite=suite, places=["last"],
            defences=["plain", "structured"], max_tokens=120, out=place,
            access=Access(timeout=600, concurrency=16),
        )  # fmt: skip
    print(described(url.partition("=")[2]))
    verdict = judge_attacks(result)
    for line in filter(None, [verdict.line, verdict.because, *attack_notes(result)]):
        print(line)
    for row in result.by_attack:
        print(
            f"  {row.name:<22} {row.defence:<7} changed {row.changed.value:6.1%}, repeat"
            f" {row.repeat.value:6.1%}, beyond it {row.net.value:6.1%} ({row.net.low:.1%} to"
            f" {row.net.high:.1%}), as meant {row.reached.value:6.1%}"
        )
    asked = 2 * questions * (2 + len(suite))
    print(f"{result.cost.calls} calls of {asked}, {result.missing} cases missing")
    return result.missing == 0 and len({case.attack.name for case in result.cases}) == len(suite)
