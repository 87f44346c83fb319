"""What a teacher gives every reply of a run: the probability of a calibration on other questions.

The calibration sees what the model cannot say in one pass: how often its samples give that answer,
how likely its own tokens are, and the kind of the group. It is fitted by fold of questions, so the
grades of a question never enter the targets of its replies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from novarag.calibration.fit_calibration import LEAST_QUESTIONS, cross_fit, score_confidences
from novarag.calibration.graded_answers import GradedAnswers
from novarag.errors import UsageError
from novarag.filters.stages import ASKED
from novarag.grading import normalize
from novarag.texts import plain_text
from novarag.uncertainty.token_likelihood import token_signal

if TYPE_CHECKING:
    from novarag.runs import Run
    from novarag.stats.arrays import Floats

FREQUENCY, LIKELIHOOD, KIND = "self-frequency", "likelihood", "kind"
_COLUMNS = ["question", "group", "strategy", "kind", "sample", "answer", "confidence", "correct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherTargets:
    """The targets of a run by shard, in the order of its rows, and how they do on those rows."""

    targets: dict[int, pl.Series]
    facts: dict[str, Any]


def fit_teacher_targets(run: Run, *, seed: int = 0) -> TeacherTargets:
    """Give every graded reply of a run its cross-fitted probability; the others have none."""
    parts = [
        run.table(shard, _COLUMNS).select(*_COLUMNS, _shard=pl.lit(shard)) for shard in run.finished
    ]
    trials = pl.concat(parts).with_columns(model=pl.lit(run.settings.model))
    trials = trials.with_columns(_frequency=self_frequencies(trials))
    likelihoods = _likelihoods(run, trials)
    read = pl.col("correct").is_not_null() & pl.col("confidence").is_not_null()
    known = trials.select(read).to_series().to_numpy()
    graded = _graded(trials.filter(read), None if likelihoods is None else likelihoods[known])
    questions = graded.questions
    if questions < LEAST_QUESTIONS:
        raise UsageError.saying(
            "{}: {} graded questions are too few for a teacher: {} are the least; give"
            " `alignment='share'`",
            plain_text(run.name),
            questions,
            LEAST_QUESTIONS,
        )
    chance = cross_fit(graded, seed=seed)
    targets = np.full(trials.height, np.nan)
    targets[known] = chance
    whole = pl.Series("target", targets).fill_nan(None)
    shards = trials["_shard"]
    done = score_confidences(chance, graded.correct, graded.weights)
    signals = [FREQUENCY, *([] if likelihoods is None else [LIKELIHOOD]), KIND]
    return TeacherTargets(
        targets={shard: whole.filter(shards == shard) for shard in run.finished},
        facts={
            "name": run.name, "model": run.settings.model, "signals": signals,
            "replies": len(graded), "questions": questions,
            "brier": round(done.brier, 4),
            "auroc": None if done.auroc is None else round(done.auroc, 4),
        },
    )  # fmt: skip


def self_frequencies(trials: pl.DataFrame) -> pl.Series:
    """Return, for each reply, the share of its group's samples that give the same answer.

    Samples that could not be read count, and give none; null for those themselves.
    """
    same = {answer: normalize(answer) for answer in trials["answer"].drop_nulls().unique()}
    said = pl.col("answer").replace_strict(same, default=None, return_dtype=pl.String)
    share = pl.len().over([*ASKED, "_said"]) / pl.len().over(ASKED)
    own = pl.when(pl.col("_said").is_not_null()).then(share).cast(pl.Float64)
    return trials.with_columns(_said=said).select(_frequency=own).to_series()


def _likelihoods(run: Run, trials: pl.DataFrame) -> Floats | None:
    """Return how likely the model found each answer's tokens; None where a run kept none."""
    if not run.settings.sampling.logprobs:
        return None
    found = {(trial.group.id, trial.sample): token_signal(LIKELIHOOD, trial) for trial in run}
    keys = trials.select("group", "sample").iter_rows()
    return np.array([found.get(key) for key in keys], dtype=float)


def _graded(trials: pl.DataFrame, likelihoods: Floats | None) -> GradedAnswers:
    """Lay graded replies out for a calibration, with self-frequency where it has the confidence."""
    kinds = tuple(sorted(trials["kind"].drop_nulls().unique()))
    number = {kind: i for i, kind in enumerate(kinds)}
    return GradedAnswers(
        confidence=trials["_frequency"].to_numpy(),
        correct=trials["correct"].to_numpy(),
        question=trials["question"].rank("dense").to_numpy().astype(np.intp),
        state=np.array([number.get(kind, -1) for kind in trials["kind"]], dtype=np.intp),
        states=kinds,
        signal=likelihoods,
        signal_name=None if likelihoods is None else LIKELIHOOD,
    )
