"""What a passage may try, what is set against it, and what counts as success.

The suite of attacks is data (`suite/*.toml`), a defence is a row, a rule of the screen is a row.
"""

from __future__ import annotations

from novarag.attacks.defences import DEFENCES, Defence, find_defence
from novarag.attacks.outcomes import MARGIN, PARTS, Case, Outcome, moved, same_answer
from novarag.attacks.poisoning import MARK, Place, planted_answer, poison
from novarag.attacks.screen import RULES, Action, Screened, screen_group, screen_text
from novarag.attacks.suite import CLASSES, CONTROL, Attack, Goal, parse_suite, shipped_suite

__all__ = [
    "CLASSES",
    "CONTROL",
    "DEFENCES",
    "MARGIN",
    "MARK",
    "PARTS",
    "RULES",
    "Action",
    "Attack",
    "Case",
    "Defence",
    "Goal",
    "Outcome",
    "Place",
    "Screened",
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
