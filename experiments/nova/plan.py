"""What the proof takes: questions by split, rows, samples, trainings. Settled before it was begun.

There are three. `nova` is the paper's: long replies that judge every passage, about seven hours of
two cores. `vanilla` trains short replies, and the number of the chosen one alone: under three hours.
`number` trains the number alone, on the base's own sampled replies, and apart from that whole
replies that the paper's choice by Brier score keeps. The README has the tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from novarag.filters.options import WRITTEN

SEED = 0
READS = 0.55  # right answers with gold among three passages that end the warm-up
READER = 100  # dev questions that say so

TEST_FOUND = 120
"""Test questions with really retrieved passages."""

GRADED = (100, 300)
"""Graded training questions that a calibration is fitted on."""

SAVED = ["--save-every", "15"]
"""Steps between checkpoints: minutes, as a proof that is killed goes on from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The sizes of one proof; `clean` and `found` are questions, None is the rest.

    `form` is the strategy of the trained systems' replies. `clean` counts questions of nova-clean's
    training file, each with its three kinds of groups; `found` those with really retrieved
    passages, one group each, but for drills; `fresh`, `retrieved` and `more` are the most of
    nova-clean's fresh questions, of those with retrieved passages, and of the released and those
    asked before. `drills` are counted for each part of the warm-up. `rows` are those of an
    alignment's training over all epochs (two at most), `levels` and `scores` those of the two
    trainings of the confidence alone (with 0 there is no second; `loss` is that of the first),
    `short` those of an ablation. With `number_alone` these two begin from the warmed-up model and
    its own samples, not from a trained alignment. Written targets are filtered by `written`, the
    alignments that choose by the stated number by `nearest`. Methods that ask several times ask by
    `sampled`. A server that is not `compiled` starts minutes sooner and writes more slowly.
    """

    name: str
    form: str
    samples: int
    own_samples: int
    drills: tuple[int, ...]
    drill_forms: tuple[str | None, ...]
    clean: dict[str, int | None]
    found: dict[str, int | None]
    dev: int | None
    fresh: int | None
    more: int | None
    each_kind: bool
    alignments: tuple[str, ...]
    written: tuple[str, ...]
    prompts: tuple[str, ...]
    rows: int
    levels: int
    scores: int
    short: int
    nearest: tuple[str, ...] = ()
    retrieved: int = TEST_FOUND
    number_alone: bool = False
    loss: str = "level-entropy"
    sampled: str = "cot"
    sampled_on: tuple[str, ...] = ("test-clean", "test-retrieved")
    layers: tuple[str, ...] = ()
    compiled: bool = True

    @property
    def parts(self) -> int:
        """The parts of the warm-up; the second is for a model that does not read after the first."""
        return len(self.drills)

    @property
    def aligned(self) -> list[str]:
        """The alignments that state a confidence in this form."""
        return [name for name in self.alignments if name != "label-only"]

    @property
    def whole(self) -> list[str]:
        """The alignments that are trained as whole replies."""
        return [n for n in self.alignments if not (self.number_alone and n in WRITTEN)]

    def filters(self, alignment: str) -> tuple[str, ...]:
        """Return how the replies of an alignment are filtered."""
        return self.written if alignment in WRITTEN else self.nearest

    @property
    def confident(self) -> list[str]:
        """The stages of the confidence alone."""
        return ["confident-1", "confident-2"][: 2 if self.scores else 1]

    @property
    def warmup(self) -> list[str]:
        """The settings of the warm-up, which is no part of the method: as in the first run."""
        return ["--rank", "32", "--learning-rate", "5e-4", "--batch", "4", "--at-once", "4",
                *SAVED, *self.layers]  # fmt: skip

    @property
    def train(self) -> list[str]:
        """The paper's rank; a batch and a rate for hundreds of rows instead of two thousand."""
        if self.number_alone:
            return [*_NUMBERS, "--learning-rate", "5e-4"]
        return [*_ALIGNED, "--learning-rate", "3e-4", *SAVED, *self.layers]

    @property
    def gently(self) -> list[str]:
        """For the last stage, which sets levels right and is not to unlearn what tells them apart."""
        if self.number_alone:
            return [*_NUMBERS, "--learning-rate", "3e-4"]
        return [*_ALIGNED, *SAVED, *self.layers, "--learning-rate", "1e-4"]


_NUMBERS = ["--rank", "16", "--batch", "10", "--at-once", "5", "--warmup", "0.05",
            "--upper-layers", "15", "--save-every", "100"]  # fmt: skip
_ALIGNED = ["--rank", "16", "--batch", "8", "--warmup", "0.1"]

PLANS = {
    "nova": Plan(
        name="nova",
        form="nova",
        samples=16,
        own_samples=4,
        drills=(900, 900),
        drill_forms=(
            "nova", None, "vanilla", "nova", None, "nova", "cot", None,
            "nova", None, "label-only", "nova", None, "nova", "noise-aware", "vanilla",
        ),
        clean={"warm": 55, "sample": 70, "own": None},
        found={"warm": 520, "sample": 200, "own": 500},
        dev=None,
        fresh=None,
        more=None,
        each_kind=True,
        alignments=("brier", "soft", "share", "teacher", "label-only"),
        written=(),
        prompts=("vanilla", "cot", "noise-aware", "nova"),
        rows=320,
        levels=480,
        scores=200,
        short=120,
    ),
    "vanilla": Plan(
        name="vanilla",
        form="vanilla",
        samples=8,
        own_samples=2,
        drills=(640, 420),
        drill_forms=(
            "vanilla", None, "vanilla", "cot", "vanilla", None, "vanilla", "noise-aware",
        ),
        clean={"warm": 20, "sample": 90, "own": None},
        found={"warm": 520, "sample": 260, "own": 260},
        dev=200,
        fresh=150,
        more=80,
        each_kind=False,
        alignments=("share", "teacher"),
        written=("--unfiltered", "--balance", "none"),
        prompts=("vanilla", "cot", "noise-aware"),
        rows=320,
        levels=512,
        scores=0,
        short=80,
        loss="tokenized-brier",
        sampled="vanilla",
        sampled_on=("test-retrieved",),
        layers=("--upper-layers", "15"),
        compiled=False,
    ),
}  # fmt: skip
PLANS["number"] = replace(
    PLANS["vanilla"],
    name="number",
    number_alone=True,
    alignments=("teacher", "brier", "soft"),
    nearest=("--unjudged", "--balance", "none"),
    drills=(900,),
    samples=5,
    clean={"warm": 20, "sample": 150, "own": None},
    found={"warm": 900, "sample": 600, "own": 320},
    fresh=None,
    retrieved=200,
    levels=1500,
    scores=0,
    short=900,
    loss="level-entropy",
)
"""Every plan by its name."""
