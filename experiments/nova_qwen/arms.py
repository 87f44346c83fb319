"""The rows of the four arms, from the replies that the untrained model sampled itself.

All are whole replies of its own: nothing of an answer is masked or written for it, as that broke
the reader in a first trial. Their judgments are right, since judging is what is to be learnt. What
differs is the number:

- `brier`, the paper's: as it was stated, by the reply whose number is nearest to whether it is right.
- `state`, ours: the share of right answers among such replies with the same written state.
- `teacher`, ours: a probability from the answer's frequency, its likelihood and the kind of group.
- `label-only`, the paper's baseline: the rows of `brier` without their judgments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from experiments.nova.plan import SEED
from experiments.nova_qwen.compact import COMPACT
from novarag.calibration.fit_calibration import cross_fit
from novarag.calibration.graded_answers import GradedAnswers
from novarag.errors import DataError
from novarag.filters import Options, funnel
from novarag.flows.teacher_targets import LIKELIHOOD, self_frequencies
from novarag.sft.examples import KeptTrial, make_examples
from novarag.sft.formats import canonical_row
from novarag.sft.levels import ConfidenceLevels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.records import PassageGroup

ARMS = ("brier", "state", "teacher", "label-only")
STAGES = ("format", "judgment", "alignment")
"""The compact form has no step that names its rule: a state that is right follows from the classes."""
LEVELS = ConfidenceLevels(10)
ROUNDS = 4  # replies of a group at most: the best aligned, the next best, …
LEAST = 300
"""Rows of an arm at least. Where fewer judge every passage rightly, as the paper asks, the state of
the group must be right and a class of a passage may be wrong; the log says which filter it was."""
EVERY, STATE = "every passage and the state", "the state alone"
_KEPT = ("question", "group", "kind", "strategy", "model", "answer", "confidence", "correct",
         "reply", "prompt_hash", "target")  # fmt: skip


def arm_rows(
    arm: str,
    trials: pl.DataFrame,
    groups: Sequence[PassageGroup],
    *,
    rows: int,
    judged: str = EVERY,
) -> list[dict]:
    """Return the training rows of an arm as TRL reads them, shuffled by the seed."""
    kept = kept_trials(arm, as_judged(trials, judged), rows=rows)
    names = {g.id: g for g in groups}
    made = make_examples(
        [KeptTrial(**row, reasoning=None) for row in kept.select(_KEPT).iter_rows(named=True)],
        names,
        strategies={COMPACT.name: COMPACT},
        label_only=arm == "label-only",
        levels=LEVELS if arm in {"state", "teacher"} else None,
    )
    sound = [canonical_row(example) for example in made if example.fault is None]
    order = np.random.default_rng(SEED).permutation(len(sound))
    return [sound[i] for i in order]


def filter_of(trials: pl.DataFrame, *, rows: int) -> str:
    """Say by which judgments replies are kept: the same for every arm."""
    try:
        enough = kept_trials("brier", trials, rows=rows).height >= min(LEAST, rows)
    except DataError:
        enough = False
    return EVERY if enough else STATE


def as_judged(trials: pl.DataFrame, judged: str) -> pl.DataFrame:
    """Count the classes of passages as right where the state alone is asked for."""
    if judged == EVERY:
        return trials
    return trials.with_columns(passages_right=pl.col("passages_judged"))


def kept_trials(arm: str, trials: pl.DataFrame, *, rows: int) -> pl.DataFrame:
    """Return the replies of an arm: one of each group, then a second, until there are enough.

    Kinds are as equal as the rarest allows, for else the most frequent state would be all that is
    learnt. The target is what is written in place of the number; null where none is.
    """
    if arm not in ARMS:
        raise DataError(f"there is no arm {arm!r}.", hint=f"they are {', '.join(ARMS)}.")
    known = with_targets(arm, trials)
    alignment = "brier" if arm in {"brier", "label-only"} else "teacher"
    options = Options(alignment=alignment, balance="none", seed=SEED)
    left, found = known, []
    for turn in range(ROUNDS):
        best = funnel(left, STAGES, options=options).kept
        found.append(best.with_columns(_turn=pl.lit(turn)))
        left = left.join(best.select("group", "sample"), on=["group", "sample"], how="anti")
    every = pl.concat(found).drop_nulls("kind")
    if not every.height:
        raise DataError(
            "no reply judges its passages rightly.", hint="sample more groups; see the dev figures."
        )
    each = min(every.group_by("kind").len()["len"].min(), -(-rows // every["kind"].n_unique()))
    return every.sort("_turn", "group").group_by("kind", maintain_order=True).head(each)


def with_targets(arm: str, trials: pl.DataFrame) -> pl.DataFrame:
    """Add the number that an arm writes into each reply, if it writes one."""
    if arm == "state":
        return trials.with_columns(target=pl.Series(state_shares(trials)))
    if arm == "teacher":
        return trials.with_columns(target=pl.Series(taught(trials)))
    return trials.with_columns(target=pl.lit(None, dtype=pl.Float64))


def state_shares(trials: pl.DataFrame) -> list[float | None]:
    """Return for each reply the share of right answers among rightly judged ones of its state.

    Rightly judged ones, as these are what is trained on and what the trained model is to write.
    """
    judged = trials.filter(
        (pl.col("passages_right") == pl.col("passages_judged"))
        & (pl.col("group_right") == pl.col("group_judged"))
        & pl.col("correct").is_not_null()
    )
    shares: Mapping[str, float] = dict(
        judged.group_by("evidence").agg(pl.col("correct").mean()).iter_rows()
    )
    return [shares.get(state) for state in trials["evidence"]]


def taught(trials: pl.DataFrame) -> list[float | None]:
    """Return for each reply its probability by a calibration that never saw its question."""
    often = trials.with_columns(_frequency=self_frequencies(trials))
    read = (pl.col("correct").is_not_null() & pl.col("confidence").is_not_null()).alias("read")
    known = often.select(read)["read"].to_numpy()
    table = often.filter(read)
    kinds = sorted(table["kind"].drop_nulls().unique())
    graded = GradedAnswers(
        confidence=table["_frequency"].to_numpy(),
        correct=table["correct"].to_numpy(),
        question=table["question"].rank("dense").to_numpy().astype(np.intp),
        state=np.array(
            [kinds.index(k) if k in kinds else -1 for k in table["kind"]], dtype=np.intp
        ),
        states=tuple(kinds),
        signal=table[LIKELIHOOD].to_numpy().astype(float),
        signal_name=LIKELIHOOD,
    )
    chance = iter(cross_fit(graded, seed=SEED))
    return [float(next(chance)) if is_read else None for is_read in known]
