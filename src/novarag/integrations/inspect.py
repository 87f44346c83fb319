"""inspect_ai: a scorer that reads and grades stated confidence, its metrics, and its logs.

`novarag/stated_confidence` and the metrics are registered through inspect's entry point, so
`inspect score LOG --scorer novarag/stated_confidence` finds them. The metrics look at every epoch
of a sample, never at their mean, and resample questions: the epochs of a sample go together.
"""

from __future__ import annotations

import logging
from math import isnan
from typing import TYPE_CHECKING, Any

import polars as pl
from inspect_ai.log import read_eval_log
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    SampleScore,
    Score,
    Target,
    metric,
    scorer,
)

from novarag.answers.opening.answers import read_answers
from novarag.answers.opening.columns import Columns
from novarag.defaults import MEASURE
from novarag.errors import DataError, UsageError
from novarag.integrations.core import find_reader
from novarag.integrations.inspect_confidence import confidence as confidence  # registers itself
from novarag.integrations.marking import (
    HEADLINE,
    beside,
    mark_reply,
    measured,
    values_of,
)
from novarag.records import Flaw
from novarag.taxonomy import Grade

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.solver import TaskState

    from novarag.integrations.marking import MarkRow
    from novarag.records import Trial

_log = logging.getLogger(__name__)
_VALUES = {Grade.RIGHT: CORRECT, Grade.WRONG: INCORRECT, Grade.ABSTAINED: NOANSWER}
_HINT = (
    "score with novarag/stated_confidence, or let your scorer put `confidence` (0 to 1, None where"
    " it could not be read) into Score.metadata"
)
_SCHEMA = {
    "question": pl.String,
    "sample": pl.Int64,
    "model": pl.String,
    "answer": pl.String,
    "confidence": pl.Float64,
    "correct": pl.Boolean,
    "abstained": pl.Boolean,
    "flaw": pl.String,
}


# --- metrics -------------------------------------------------------------------------------------


def _metric(name: str, metrics: Sequence[str], *, whole: bool = False) -> Callable[..., Any]:
    def make(
        question: str | None = None, replicates: int = MEASURE.replicates, seed: int = MEASURE.seed
    ) -> Any:  # noqa: ANN401
        def compute(scores: list[SampleScore]) -> dict[str, float]:
            rows = tuple(_row(score, question) for score in scores)
            panel = measured(rows, replicates, seed)
            if panel.refusal:
                _log.info("novarag/%s is not known: %s", name, panel.refusal)
            return values_of(panel, metrics) | (beside(panel) if whole else {})

        return compute

    registered: Callable[..., Any] = metric(name=name, scores="unreduced")(make)
    return registered


ece = _metric("ece", ("ece",))
brier = _metric("brier", ("brier",))
auroc = _metric("auroc", ("auroc",))
aurc = _metric("aurc", ("aurc",))
selective = _metric("selective", ("accuracy_at_80", "coverage_at_10"))
calibration = _metric("calibration", HEADLINE, whole=True)
"""All of these, beside the noise floor of ECE and what a constant would score.

Each takes `question` (the key of sample metadata that names the question; the sample's id if not
given), `replicates` and `seed`, and gives value, `_low` and `_high` of each figure.
"""


def _row(score: SampleScore, question: str | None) -> MarkRow:
    stated = (score.score.metadata or {}).get("confidence")
    if stated is None:
        raise UsageError(f"sample {score.sample_id} states no confidence: {_HINT}")
    named = _question(score.sample_id, score.sample_metadata, question)
    return named, float(stated), is_right(score.score.value)


def _question(sample: object, metadata: dict[str, Any] | None, key: str | None) -> str:
    if key is None:
        return str(sample)
    named = (metadata or {}).get(key)
    if named is None:
        raise UsageError(
            f"the metadata of sample {sample} has no {key!r}, which names its question"
        )
    return str(named)


def is_right(value: object) -> bool | None:
    """Say whether a score's value means right or wrong; None where it is unscored."""
    if isinstance(value, float) and isnan(value):
        return None
    known = {CORRECT: True, INCORRECT: False, NOANSWER: False, 1: True, 0: False}
    if not isinstance(value, str | int | float) or value not in known:
        raise UsageError(f"the value {value!r} of a score is neither right nor wrong")
    return known[value]


# --- scorer --------------------------------------------------------------------------------------


def _stated_confidence(strategy: str = "cot") -> Callable[..., Awaitable[Score]]:
    """Read the answer and the confidence a reply states, and grade the answer.

    `strategy` says how replies are laid out: a strategy, a preset for another format, or
    package.module:OBJECT. A reply that cannot be read is unscored, not wrong; inspect counts it,
    and `read_log` keeps it with its flaw.
    """
    reader = find_reader(strategy)

    async def score(state: TaskState, target: Target) -> Score:
        cut = state.output.stop_reason in ("max_tokens", "model_length")
        return _score(mark_reply(state.output.completion, list(target), reader, truncated=cut))

    return score


stated_confidence: Callable[..., Any] = scorer(metrics=[calibration()], name="stated_confidence")(
    _stated_confidence
)


def _score(trial: Trial) -> Score:
    if trial.response is None:
        silent = trial.flaw is Flaw.EMPTY
        return Score.unscored(
            reason="no_response" if silent else "invalid_response_format",
            explanation=f"The reply could not be read: {trial.flaw}.",
            metadata={"confidence": None, "flaw": str(trial.flaw)},
        )
    said, stated = trial.response.answer, {"confidence": trial.response.confidence, "flaw": None}
    if trial.grade is None:
        return Score.unscored(
            reason="no_target",
            answer=said,
            explanation="The sample has no target to grade by.",
            metadata=stated,
        )
    return Score(value=_VALUES[trial.grade], answer=said, metadata=stated)


# --- logs ----------------------------------------------------------------------------------------


def read_log(
    log: str | Path | EvalLog,
    *,
    scorer: str | None = None,
    question: str | None = None,
    **others: Any,  # noqa: ANN401
) -> pl.DataFrame:
    """Read an evaluation log into the frame that `measure` takes, one row per sample and epoch.

    `scorer` names the scorer whose scores state a confidence, if several do; `question` the key of
    sample metadata that names the question; `others` are fields of `Columns` for values that
    can mean more than one thing, such as `mixed=True`. A sample that failed, or was never scored,
    is kept as unread, with that as its flaw.
    """
    whole: EvalLog = log if hasattr(log, "samples") else read_eval_log(str(log))
    if not whole.samples:
        raise DataError(
            "the log holds no samples.",
            hint="read a whole log, of an evaluation that ran with log_samples.",
            source=whole.location or None,
        )
    name = _scorer(whole.samples, scorer)
    rows = [_log_row(sample, name, question, whole.eval.model) for sample in whole.samples]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return read_answers(frame, columns=Columns(question="question", **others)).table


def _scorer(samples: Sequence[EvalSample], wanted: str | None) -> str:
    found = dict.fromkeys(
        name
        for sample in samples
        for name, score in (sample.scores or {}).items()
        if "confidence" in (score.metadata or {})
    )
    if wanted is not None and wanted not in found:
        raise UsageError(f"no scorer {wanted!r} states a confidence in this log: {_HINT}")
    if not found:
        raise UsageError(f"no score of this log states a confidence: {_HINT}")
    if wanted is None and len(found) > 1:
        raise UsageError(f"several scorers state a confidence: pass scorer={' or '.join(found)}")
    return wanted or next(iter(found))


def _log_row(sample: EvalSample, name: str, question: str | None, model: str) -> tuple[object, ...]:
    named = _question(sample.id, sample.metadata, question)
    asked = (named, sample.epoch, sample.output.model or model)
    score = (sample.scores or {}).get(name)
    if score is None:
        return *asked, None, None, None, None, "failed" if sample.error else "not scored"
    scored_as = score.metadata or {}
    stated, right = scored_as.get("confidence"), is_right(score.value)
    flaw = scored_as.get("flaw") or (None if stated is not None else "no confidence in the score")
    refused = None if right is None else score.value == NOANSWER
    return *asked, score.answer, stated, right, refused, flaw
