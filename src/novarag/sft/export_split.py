"""Which examples are fit to train on, and which of those are set aside for development."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.seeding import stable_hash
from novarag.sft.examples import TrainingExample, fault_of_two_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.sft.lengths import TokenRuler


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedExample:
    """An example that is not fit to train on, with the reason."""

    example: TrainingExample
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSplit:
    """The examples that are fit, and the others."""

    fit: tuple[TrainingExample, ...]
    rejected: tuple[RejectedExample, ...]


def sift(
    examples: Iterable[TrainingExample], *, label_only: bool, ruler: TokenRuler | None
) -> ExportSplit:
    """Part the examples by whether they can be read back and are short enough."""
    fit: list[TrainingExample] = []
    rejected: list[RejectedExample] = []
    for example in examples:
        tokens, reason = (None, None) if ruler is None else ruler.measure(example)
        reason = example.fault or reason
        if reason is None and label_only:
            reason = fault_of_two_lines(example)
        measured = replace(example, tokens=tokens)
        if reason is None:
            fit.append(measured)
        else:
            rejected.append(RejectedExample(example=measured, reason=reason))
    return ExportSplit(fit=tuple(fit), rejected=tuple(rejected))


def split(
    examples: Sequence[TrainingExample], *, dev: float, seed: int
) -> dict[str, list[TrainingExample]]:
    """Set whole questions aside for development; a question's side depends on it and the seed only.

    So more questions do not move the old ones, and two exports of one filter agree.
    """
    if not 0 <= dev < 1:
        raise UsageError(f"the share for development lies from 0 to below 1, not at {dev:g}")
    splits: dict[str, list[TrainingExample]] = {"train": [], "dev": []}
    for example in examples:
        aside = dev > 0 and _place(example.question, seed) < dev
        splits["dev" if aside else "train"].append(example)
    if not splits["train"]:
        raise UsageError.saying("no question is left to train on; give a smaller `dev`")
    return {name: part for name, part in splits.items() if part}


def _place(question: str, seed: int) -> float:
    """Give a question its place in [0, 1), the same on every machine."""
    return stable_hash(str(seed), question, size=6, algorithm="sha256") / 2**48
