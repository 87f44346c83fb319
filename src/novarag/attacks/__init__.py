"""What a passage may try, what is set against it, and what counts as success.

The suite of attacks is data (`suite/*.toml`), a defence is a row, a rule of the screen is a row.
"""

from __future__ import annotations

from novarag.attacks.defences import DEFENCES, Defence, find_defence
from novarag.attacks.outcomes import MARGIN, PARTS, AttackCase, AttackOutcome, moved, same_answer
from novarag.attacks.poisoning import MARK, AttackPlace, planted_answer, poison
from novarag.attacks.screen import RULES, ScreenAction, ScreenedGroup, screen_group, screen_text
from novarag.attacks.suite import CLASSES, CONTROL, Attack, AttackGoal, parse_suite, shipped_suite

__all__ = [
    "CLASSES",
    "CONTROL",
    "DEFENCES",
    "MARGIN",
    "MARK",
    "PARTS",
    "RULES",
    "Attack",
    "AttackCase",
    "AttackGoal",
    "AttackOutcome",
    "AttackPlace",
    "Defence",
    "ScreenAction",
    "ScreenedGroup",
    "find_defence",
    "moved",
    "parse_suite",
    "planted_answer",
    "poison",
    "same_answer",
    "screen_group",
    "screen_text",
    "shipped_suite",
]
