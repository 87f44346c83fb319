"""The ways of asking. To add one: write a prompt file, build a `Strategy`, add it to the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.records import Prompt
from novarag.strategies.confidence import Scale, parse_confidence
from novarag.strategies.labels import Labels
from novarag.strategies.reader import COMBINE, read
from novarag.strategies.template import Template, lay_out, parse_passages, shipped

if TYPE_CHECKING:
    from novarag.records import PassageGroup, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How to ask, and how to read what comes back: a prompt and its reader, kept together."""

    name: str
    template: Template
    labels: Labels = field(default_factory=Labels)
    cites: str | None = None

    def render(self, group: PassageGroup) -> Prompt:
        """Fill the template with a question and its passages."""
        return Prompt(
            text=self.template.fill(group), strategy=self.name, template_hash=self.template.hash
        )

    def read(self, reply: str, *, k: int | None = None) -> Reading:
        """Read a reply; `k` is the number of passages that were shown."""
        return read(reply, self.labels, k=k)


_STEPS = Labels(combine="product")
_PAPER = "NOVA: Noise-aware Verbal Confidence Calibration"

VANILLA = Strategy(name="vanilla", template=shipped("vanilla"))
COT = Strategy(name="cot", template=shipped("cot"))
MULTI_STEP = Strategy(name="multi-step", template=shipped("multi-step"), labels=_STEPS)
NOISE_AWARE = Strategy(name="noise-aware", template=shipped("noise-aware"))
NOVA = Strategy(name="nova", template=shipped("nova"))
LABEL_ONLY = Strategy(name="label-only", template=shipped("label-only"))
CLOSED_BOOK = Strategy(name="closed-book", template=shipped("closed-book"))
TOP_K = Strategy(name="top-k", template=shipped("top-k"))


def _paper(name: str, figure: str, labels: Labels | None = None) -> Strategy:
    return Strategy(
        name=f"{name}-paper",
        template=shipped(f"{name}-paper"),
        labels=labels or Labels(),
        cites=f"{_PAPER}, {figure}",
    )


STRATEGIES = {
    s.name: s
    for s in (
        VANILLA,
        COT,
        MULTI_STEP,
        NOISE_AWARE,
        NOVA,
        LABEL_ONLY,
        CLOSED_BOOK,
        TOP_K,
        _paper("vanilla", "figure 'Prompt Templates'"),
        _paper("cot", "figure 'Prompt Templates'"),
        _paper("multi-step", "figure 'Prompt Templates'", _STEPS),
        _paper("noise-aware", "figure 'Noise-Aware Prompt'"),
        _paper("nova", "figure 'NOVA prompt'"),
    )
}
"""Every strategy by name; `*-paper` ones quote the paper's prompts word for word."""

FORMATS = {
    "guess-probability": Labels(
        answer=("guess", "answer"), confidence=("probability",), scale=Scale.UNIT, terse=True
    ),
    "answer-tags": Labels(scale=Scale.UNIT, tagged=True),
    "probability-yes": Labels(
        answer=("decision",), confidence=("probability_yes",), scale=Scale.HUNDRED
    ),
}
"""Label presets for other people's prompts, read by the same reader."""

__all__ = [
    "CLOSED_BOOK",
    "COMBINE",
    "COT",
    "FORMATS",
    "LABEL_ONLY",
    "MULTI_STEP",
    "NOISE_AWARE",
    "NOVA",
    "STRATEGIES",
    "TOP_K",
    "VANILLA",
    "Labels",
    "Scale",
    "Strategy",
    "Template",
    "lay_out",
    "parse_confidence",
    "parse_passages",
    "read",
]
