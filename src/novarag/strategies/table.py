"""What a strategy is, and the table of those that ship."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.defaults import ASK
from novarag.errors import UnknownNameError
from novarag.records import NumberScale, Prompt
from novarag.strategies.forms import guessed, judged, reasoned, stepwise, verdict
from novarag.strategies.labels import Labels
from novarag.strategies.reader import read
from novarag.strategies.template import Template, shipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.records import PassageGroup, Reading
    from novarag.strategies.frames import FramedStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How to ask, and how to read what comes back: a prompt and its reader, kept together.

    `form` makes the pattern of a reply from the number of passages and the most characters of a
    step, for servers that can hold a model to one.
    """

    name: str
    template: Template
    labels: Labels = field(default_factory=Labels)
    cites: str | None = None
    form: Callable[[int, int], str] | None = field(default=None, repr=False)

    def render(self, group: PassageGroup) -> Prompt:
        """Fill the template with a question and its passages."""
        return Prompt(
            text=self.template.fill(group), strategy=self.name, template_hash=self.template.hash
        )

    def read(
        self,
        reply: str,
        *,
        group: PassageGroup | None = None,
        k: int | None = None,
        truncated: bool = False,
    ) -> Reading:
        """Read a reply to the prompt of a group; without one, `k` says how many passages it had."""
        passages = [p.text for p in group.passages] if group else []
        shown = len(passages) if group else k
        return read(reply, self.labels, k=shown, passages=passages, truncated=truncated)

    def framed(self, secret: str | None = None) -> FramedStrategy:
        """Return the same strategy with labels that no passage can know; see `FramedStrategy`."""
        from novarag.strategies.frames import FramedStrategy, fresh_secret

        return FramedStrategy(strategy=self, secret=secret or fresh_secret())

    def pattern(self, k: int, *, step_length: int = ASK.step_length) -> str:
        r"""Return the regular expression of replies about k passages; raise if they have no form.

        >>> import re
        >>> re.fullmatch(COT.pattern(5), "So.\nAnswer: 1871\nConfidence: 7%") is not None
        True
        """
        if self.form is None:
            raise UnknownNameError(self.name, [s.name for s in STRATEGIES.values() if s.form])
        return self.form(k, step_length)


_STEPS = Labels(combine="product")
_PAPER = "NOVA: Noise-aware Verbal Confidence Calibration"

VANILLA = Strategy(name="vanilla", template=shipped("vanilla"), form=verdict)
COT = Strategy(name="cot", template=shipped("cot"), form=reasoned)
MULTI_STEP = Strategy(
    name="multi-step", template=shipped("multi-step"), labels=_STEPS, form=stepwise
)
NOISE_AWARE = Strategy(name="noise-aware", template=shipped("noise-aware"), form=reasoned)
NOVA = Strategy(name="nova", template=shipped("nova"), form=judged)
LABEL_ONLY = Strategy(name="label-only", template=shipped("label-only"), form=verdict)
CLOSED_BOOK = Strategy(name="closed-book", template=shipped("closed-book"), form=verdict)
TOP_K = Strategy(name="top-k", template=shipped("top-k"), form=guessed)


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
        answer=("guess", "answer"), confidence=("probability",), scale=NumberScale.UNIT, terse=True
    ),
    "answer-tags": Labels(scale=NumberScale.UNIT, tagged=True),
    "probability-yes": Labels(
        answer=("decision",), confidence=("probability_yes",), scale=NumberScale.HUNDRED
    ),
}
"""Label presets for other people's prompts, read by the same reader."""
