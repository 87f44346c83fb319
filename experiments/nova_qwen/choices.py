"""What is chosen on dev questions, written down before the first test request, once and for all."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from experiments.nova.choosing import RULE, choose, measured
from experiments.nova_qwen.arms import ARMS
from experiments.nova_qwen.figures import figures
from experiments.nova_qwen.plan import PROMPTS, dev, look
from novarag.errors import DataError

if TYPE_CHECKING:
    from experiments.nova_qwen.store import Store

PROMPT, ARM = "prompt", "arm"
PROMPT_RULE = "the lowest Brier score on the first 100 dev questions"
TEST = ("test-", "again-")
"""How the names of all stages begin that ask test questions."""


def chosen(store: Store, what: str) -> str | None:
    """Return what was chosen, or None."""
    return next((row["chosen"] for row in store.rows() if row.get("choice") == what), None)


def write(store: Store, what: str, name: str, rule: str, found: dict) -> None:
    """Log a choice; refused when it was made before, or a test question was asked.

    Raises:
        DataError: It is too late.
    """
    rows = store.rows()
    if any(str(row.get("stage", "")).startswith(TEST) for row in rows):
        raise DataError(f"{what!r} cannot be chosen after test questions were asked.", hint="")
    if chosen(store, what) is not None:
        raise DataError(f"{what!r} was chosen before.", hint="a choice is made once.")
    store.log(choice=what, chosen=name, rule=rule, figures=found)


def choose_prompt(store: Store) -> None:
    """Choose the prompt that trained models are held against; all are asked the test questions."""
    if chosen(store, PROMPT) is None:
        found = {name: figures(store.read(a)) for name, a in zip(PROMPTS, look(), strict=True)}
        best = min(found, key=lambda name: found[name].brier)
        write(store, PROMPT, best, PROMPT_RULE, {n: asdict(f) for n, f in found.items()})


def choose_arm(store: Store) -> None:
    """Choose the arm that is judged, by the rule of the earlier runs; (d) is no candidate."""
    if chosen(store, ARM) is None:
        stages = {a.who: a for a in dev() if a.who in ARMS and a.who != "label-only"}
        found = {who: measured(store.read(a)) for who, a in stages.items()}
        facts = {who: {f: getattr(m, f) for f in m.__slots__} for who, m in found.items()}
        write(store, ARM, choose(found), RULE, facts)
