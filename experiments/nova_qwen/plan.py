"""The stages of the proof in their order, and the hours that are left, from measured figures.

Every stage is cut into units (chunks of groups, parts of a training) that leave a file in
`results/`; what has its file is not done again. A unit is minutes, so a stage of any length ends
near the time that it is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.nova_qwen.arms import ARMS
from experiments.nova_qwen.compact import NAME as COMPACT
from experiments.nova_qwen.store import Asking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LONGEST = {
    "vanilla": 60,
    "cot": 200,
    "noise-aware": 220,
    "nova": 420,
    COMPACT: 80,
    "label-only": 60,
}
"""Tokens of a reply at most."""
PROMPTS = {
    "vanilla": "vanilla",
    "compact": COMPACT,
    "noise-aware": "noise-aware",
    "cot": "cot",
    "nova": "nova",
}
"""The prompts of the untrained model, the cheapest first."""
BASE, FLOAT = "base", "float32"
FEW = 30
"""Dev groups that are asked in float32, too: how far int8 says the same."""
SAMPLES, SAMPLED_AT_ONCE = 8, 4
ROWS = 800
"""Rows of an arm's training; each is learnt from once."""
PART = 100
"""Rows of a part of a training: when it is done, its adapter is in `results/`."""
LOOK_EVERY = PART
"""Rows between two looks at the accuracy on dev questions."""
CORES = 2
TRAINED = 37.0
"""Tokens a second of a training on two idle cores, from a first trial, until a part is measured."""
ROW_TOKENS = 480
"""Tokens of a row, until rows are counted."""
COSTS = {
    "label-only": 0.9,
    "vanilla": 0.8,
    COMPACT: 1.0,
    "noise-aware": 3.0,
    "cot": 2.5,
    "nova": 6.0,
}
"""What a group costs beside the compact form, until it is measured: mostly its written tokens."""


def asking(name: str, who: str, split: str, strategy: str, **more: int) -> Asking:
    """Make a stage of asking."""
    return Asking(
        name=name, who=who, split=split, strategy=strategy, longest=LONGEST[strategy], **more
    )


def strategy_of(who: str) -> str:
    """Name the strategy that a trained arm answers by."""
    return "label-only" if who == "label-only" else COMPACT


def look() -> list[Asking]:
    """Before anything else: every prompt on the same 100 dev questions."""
    return [asking(f"look-{name}", BASE, "look", s) for name, s in PROMPTS.items()]


AS_FLOAT = asking("float32-compact", FLOAT, "few", COMPACT)
SAMPLE = asking(
    "sample", BASE, "sample", COMPACT, samples=SAMPLES, chunk=10, at_once=SAMPLED_AT_ONCE
)


def dev() -> list[Asking]:
    """All arms on the dev questions, and the rest of these by the two prompts that matter."""
    arms = [asking(f"dev-{arm}", arm, "dev", strategy_of(arm)) for arm in ARMS]
    base = [asking(f"dev-{n}", BASE, "dev-rest", PROMPTS[n]) for n in ("vanilla", "compact")]
    return [*base, *arms]


def graded() -> list[Asking]:
    """The other road: graded training questions, for calibrations."""
    return [asking(f"graded-{n}", BASE, "graded", PROMPTS[n]) for n in ("vanilla", "compact")]


def test() -> list[Asking]:
    """Everybody on the test questions, once, when all is chosen."""
    base = [asking(f"test-{name}", BASE, "test", s) for name, s in PROMPTS.items()]
    arms = [asking(f"test-{arm}", arm, "test", strategy_of(arm)) for arm in ARMS]
    again = [asking("again-vanilla", BASE, "test-asked-of-others", "vanilla"),
             asking("again-compact", BASE, "test-asked-of-others", COMPACT),
             *(asking(f"again-{arm}", arm, "test-asked-of-others", strategy_of(arm)) for arm in ARMS)]  # fmt: skip
    return [*base, *arms, *again]


def askings() -> list[Asking]:
    """Return every stage of asking, in order."""
    return [*look(), AS_FLOAT, SAMPLE, *dev(), *graded(), *test()]


def parts(rows: int) -> list[range]:
    """Cut the rows of a training into its parts.

    >>> [len(part) for part in parts(250)]
    [100, 100, 50]
    """
    return [range(start, min(start + PART, rows)) for start in range(0, rows, PART)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a stage has to do yet: units of groups or rows, and processor seconds for each."""

    stage: str
    done: int
    whole: int
    each: float
    measured: bool

    @property
    def hours(self) -> float:
        """Hours that are left on two idle cores."""
        return (self.whole - self.done) * self.each / CORES / 3600


def left_to_ask(
    stages: Iterable[Asking], sizes: Mapping[str, int], log: Sequence[Mapping]
) -> list[Left]:
    """Say for each stage of asking what it has done and what a group takes.

    That is its own mean processor time where it began, else that of other stages by the same
    strategy with as many samples, else a guess from the compact form's, which the plan marks.
    """
    known: dict[tuple, list[tuple[int, float]]] = {}
    own: dict[str, list[tuple[int, float]]] = {}
    every = list(stages)
    kinds = {stage.name: (stage.strategy, stage.samples) for stage in every}
    for row in log:
        if row.get("stage") in kinds and row.get("groups"):
            cost = (row["groups"], row["cpu_s"])
            own.setdefault(row["stage"], []).append(cost)
            known.setdefault(kinds[row["stage"]], []).append(cost)
    compact = _mean(known.get((COMPACT, 1), []))
    found = []
    for stage in every:
        mean = _mean(own.get(stage.name) or known.get((stage.strategy, stage.samples), []))
        guess = (compact or 10.0) * COSTS[stage.strategy] * (1 + 0.4 * (stage.samples - 1))
        done = sum(groups for groups, _ in own.get(stage.name, []))
        found.append(Left(
            stage=stage.name, done=min(done, sizes[stage.split]), whole=sizes[stage.split],
            each=guess if mean is None else mean, measured=mean is not None,
        ))  # fmt: skip
    return found


def _mean(costs: Sequence[tuple[int, float]]) -> float | None:
    groups = sum(count for count, _ in costs)
    return sum(cost for _, cost in costs) / groups if groups else None


def left_to_train(log: Sequence[Mapping], rows: int = ROWS) -> list[Left]:
    """Say for each arm which rows it has learnt from, and what a row takes."""
    parts_done = [row for row in log if row.get("part") is not None]
    learnt = sum(row["rows"] for row in parts_done)
    each = sum(row["cpu_s"] for row in parts_done) / learnt if learnt else None
    return [
        Left(
            stage=f"train-{arm}",
            done=sum(row["rows"] for row in parts_done if row["stage"] == f"train-{arm}"),
            whole=next((r["of"] for r in parts_done if r["stage"] == f"train-{arm}"), rows),
            each=each if each is not None else CORES * ROW_TOKENS / TRAINED,
            measured=each is not None,
        )
        for arm in ARMS
    ]


def table(left: Sequence[Left]) -> str:
    """Lay the plan of hours out."""
    lines = [
        "| stage | done | of | CPU seconds each | hours left on two idle cores |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.stage} | {row.done} | {row.whole} | {row.each:.1f}{'' if row.measured else ' (guessed)'}"
        f" | {row.hours:.2f} |"
        for row in left
    ]
    lines.append(f"| all | | | | {sum(row.hours for row in left):.1f} |")
    return "\n".join(lines)
