"""A trial as a row of a table: the one schema, and the two ways between record and row.

Every table of trials has these columns, or the first of them: a run's, what `filter` keeps, what
`tabulate` lays out for `measure`.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from novarag.errors import UsageError
from novarag.grouping import check_judgment, evidence_state
from novarag.records import Completion, Flaw, Judgment, Response, Trial
from novarag.taxonomy import EvidenceState, Grade, Utility, group_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from novarag.records import PassageGroup
    from novarag.taxonomy import GroupKind, PassageKind

ColumnTypes = dict[str, pl.DataType | type[pl.DataType]]

TRIALS: ColumnTypes = {
    "question": pl.String, "group": pl.String, "kind": pl.String, "strategy": pl.String,
    "model": pl.String, "sample": pl.Int32, "answer": pl.String, "confidence": pl.Float64,
    "correct": pl.Boolean, "abstained": pl.Boolean, "flaw": pl.String, "evidence": pl.String,
    "judgments": pl.List(pl.String), "passages_judged": pl.Int16, "passages_right": pl.Int16,
    "group_judged": pl.Int16, "group_right": pl.Int16, "rule_step": pl.Boolean,
    "reply": pl.String, "reasoning": pl.String, "truncated": pl.Boolean, "request": pl.String,
    "prompt_hash": pl.String, "tokens": pl.List(pl.String), "logprobs": pl.List(pl.Float64),
    "alternatives": pl.List(pl.Struct({"token": pl.String, "logprob": pl.Float64})),
}  # fmt: skip
"""One row a trial: who was asked, what was read and how it was graded, then what came back."""

READ: ColumnTypes = dict(list(TRIALS.items())[: list(TRIALS).index("rule_step") + 1])
"""The columns without what came back: those that `measure` and the reports work on."""

COMPLETION = ("model", "reply", "reasoning", "truncated", "tokens", "logprobs", "alternatives")
"""The columns that hold what came over the wire."""

SAID = (
    "group", "strategy", "sample", "answer", "confidence", "flaw", "evidence", "judgments",
    "rule_step", *COMPLETION,
)  # fmt: skip
"""The columns that make a trial, ungraded, beside its group."""

GRADED = ("correct", "abstained")
"""The columns that hold the grade."""


class GroupTruth(NamedTuple):
    """What is known of a group beforehand: its kind, its passages' kinds, its evidence state."""

    kind: GroupKind | None
    kinds: tuple[PassageKind, ...] | None
    state: EvidenceState | None


def truth_of(group: PassageGroup) -> GroupTruth:
    """Say what is known of a group, for judgments to be checked against."""
    kinds = group.kinds
    return GroupTruth(None if kinds is None else group_kind(kinds), kinds, evidence_state(group))


def to_row(
    trial: Trial,
    *,
    truth: GroupTruth | None = None,
    request: str | None = None,
    prompt_hash: str | None = None,
) -> tuple[Any, ...]:
    """Turn a trial into the cells of `TRIALS`; `truth` spares working it out again."""
    group, response, completion, grade = trial.group, trial.response, trial.completion, trial.grade
    kind, kinds, state = truth_of(group) if truth is None else truth
    judgment = response.judgment if response is not None else None
    return (
        group.question.id, group.id, kind, trial.strategy, completion.model, trial.sample,
        None if response is None else response.answer,
        None if response is None else response.confidence,
        None if grade is None else grade is Grade.RIGHT,
        None if grade is None else grade is Grade.ABSTAINED,
        trial.flaw, judgment and judgment.group,
        judgment and [p.value for p in judgment.passages],
        *check_judgment(judgment, kinds, state).values(),
        None if response is None else response.rule_step,
        completion.text, completion.reasoning, completion.truncated, request, prompt_hash,
        list(completion.tokens) or None, list(completion.logprobs) or None,
        [{"token": t, "logprob": v} for t, v in completion.alternatives] or None,
    )  # fmt: skip


def from_row(group: PassageGroup, cells: Sequence[Any]) -> Trial:
    """Read a trial back from the cells of `SAID`, and of `GRADED` where it is to be graded."""
    _, strategy, sample, answer, confidence, flaw, evidence, judgments, rule_step, *rest = cells
    judged = evidence is not None or judgments is not None
    judgment = Judgment(
        passages=tuple(Utility(word) for word in judgments or ()),
        group=None if evidence is None else EvidenceState(evidence),
    )
    response = None
    if confidence is not None:
        response = Response(
            answer=answer,
            confidence=confidence,
            judgment=judgment if judged else None,
            rule_step=rule_step,
        )
    return Trial(
        group=group,
        strategy=strategy,
        sample=sample,
        completion=to_completion(rest[: len(COMPLETION)]),
        response=response,
        flaw=None if flaw is None else Flaw(flaw),
        grade=_grade(*rest[len(COMPLETION) :]),
    )


def _grade(correct: bool | None = None, abstained: bool | None = None) -> Grade | None:
    if correct is None:
        return None
    if correct:
        return Grade.RIGHT
    return Grade.ABSTAINED if abstained else Grade.WRONG


def to_completion(cells: Sequence[Any]) -> Completion:
    """Read a completion back from the cells of `COMPLETION`."""
    model, text, reasoning, truncated, tokens, logprobs, alternatives = cells
    return Completion(
        model=model, text=text, reasoning=reasoning, truncated=truncated,
        tokens=tuple(tokens or ()), logprobs=tuple(logprobs or ()),
        alternatives=tuple((a["token"], a["logprob"]) for a in alternatives or ()),
    )  # fmt: skip


def tabulate(trials: Iterable[Trial]) -> pl.DataFrame:
    """Lay trials out as the table that `measure` and the reports work on.

    Args:
        trials: The trials to lay out, a row for each; a `Run` yields its own.
    """
    return lay_out([to_row(trial)[: len(READ)] for trial in trials], READ)


def to_pandas(table: pl.DataFrame) -> pd.DataFrame:
    """Turn a table of ours into a pandas frame, also where pyarrow is not installed.

    Columns have the types that polars' own `to_pandas` gives them with pyarrow: numbers that miss
    are NaN, other cells that miss are None.

    Args:
        table: A polars frame, such as `tabulate(run)`, `figures_frame(found)` or
            `run.trials_table()`.
    """
    try:
        import pandas as pd
    except ImportError:
        raise UsageError("to make a pandas frame, install pandas: pip install pandas") from None
    return pd.DataFrame({column.name: _values(column) for column in table})


def _values(column: pl.Series) -> NDArray[Any] | list[Any]:
    """Take the cells of a column as pandas wants them, without Arrow between."""
    if not column.dtype.is_numeric():
        return column.to_list()
    return (column.cast(pl.Float64) if column.null_count() else column).to_numpy()


def lay_out(rows: Iterable[Sequence[Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    """Lay rows out in columns of the given types."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pl.DataFrame(
        [
            pl.Series(name, values, dtype=dtype)
            for (name, dtype), values in zip(schema.items(), columns, strict=True)
        ]
    )


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Write a frame as Parquet; the same rows give the same bytes."""
    out = io.BytesIO()
    frame.write_parquet(out, compression="zstd", statistics=True)
    return out.getvalue()
