"""Graded answers from a table: what `calibrate` and `gate` work on."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.graded import UNKNOWN, Graded, Source
from novarag.errors import DataError, UsageError
from novarag.flows.answers import collect_answers
from novarag.flows.events import TableRead, silent
from novarag.flows.remarks import CALIBRATED_APART, table_remarks
from novarag.flows.signals import add_signal
from novarag.strategies import STRATEGIES, find_labels

if TYPE_CHECKING:
    from polars import DataFrame, Series

    from novarag.datasets import Columns
    from novarag.flows.events import Tell
    from novarag.stats.arrays import Floats, Ints
    from novarag.strategies import Labels
    from novarag.strategies.confidence import Scale

EVIDENCE, WEIGHT = "evidence", "weight"
NOBODY = Source()
"""No word on whose answers they are."""


def collect_graded(
    answers: object,
    *,
    columns: Columns | None = None,
    strategy: str | Labels = "nova",
    scale: Scale | None = None,
    source: Source = NOBODY,
    advice: str = CALIBRATED_APART,
    on_event: Tell = silent,
) -> Graded:
    """Take graded answers from a file, a run, trials or any table; rows nobody graded are counted.

    `columns`, `strategy` and `scale` mean what they do in `measure`; `source` says whose answers
    they are where the table does not. `advice` is for columns that change the error rate.
    """
    import polars as pl

    table = _collect(answers, columns, strategy, scale, on_event, graded=True)
    known = table.filter(pl.col("correct").is_not_null())
    rows = table_rows(known, columns, source)
    left = table.filter(pl.col("correct").is_null())["confidence"]
    unread = left.cast(pl.Float64).fill_nan(None).null_count()
    return replace(
        rows, ungraded=left.len() - unread, unread_ungraded=unread,
        remarks=table_remarks(table, columns, advice, apart=_told_apart(columns)),
    )  # fmt: skip


def _told_apart(columns: Columns | None) -> tuple[str, ...]:
    """Name the column that rows are told apart by: that of the evidence state."""
    return ((columns and columns.state) or EVIDENCE,)


def collect_ungraded(
    answers: object,
    signal: str | None,
    *,
    columns: Columns | None = None,
    strategy: str | Labels = "nova",
    scale: Scale | None = None,
    source: Source = NOBODY,
    on_event: Tell = silent,
) -> tuple[DataFrame, Graded]:
    """Take answers that need not be graded: the table as it is, and its rows as arrays.

    The signal of a calibration is in the column of that name, unless `columns` says otherwise.
    """
    from novarag.datasets import Columns

    meant = columns or Columns()
    table = _collect(answers, meant, strategy, scale, on_event, graded=False)
    if meant.signal is None:
        table = add_signal(table, answers, signal)
        meant = replace(meant, signal=signal if signal in table.columns else None)
    return table, table_rows(table, meant, source)


def _collect(
    answers: object,
    columns: Columns | None,
    strategy: str | Labels,
    scale: Scale | None,
    on_event: Tell,
    *,
    graded: bool,
) -> DataFrame:
    from novarag.datasets import Columns

    meant = columns or Columns()
    labels = find_labels(strategy, scale) if meant.reply else None
    taken = collect_answers(answers, meant, labels, graded=graded)
    on_event(TableRead(taken.taken))
    return add_signal(taken.table, answers, meant.signal)


def table_rows(known: DataFrame, columns: Columns | None, source: Source = NOBODY) -> Graded:
    """Lay a checked table out as arrays; a missing grade counts as wrong."""
    import polars as pl

    from novarag.datasets import Columns
    from novarag.metrics.questions import question_keys

    meant = columns or Columns()

    questions = question_keys(known["question"]).to_list()
    number = {name: i for i, name in enumerate(dict.fromkeys(questions))}
    state, states = _states(known, meant.state)
    confidence = known["confidence"].cast(pl.Float64)
    return Graded(
        confidence=confidence.fill_null(float("nan")).to_numpy(),
        correct=known["correct"].cast(pl.Boolean).fill_null(value=False).to_numpy(),
        question=np.array([number[name] for name in questions], dtype=np.intp),
        state=state,
        states=states,
        signal=_signal(known, meant.signal),
        signal_name=meant.signal,
        weight=_weight(known, meant.weight),
        source=Source(model=_model(known, source.model), prompt=_prompt(known, source.prompt)),
        digest=_digest(known),
        question_ids=tuple(number),
    )


def _digest(known: DataFrame) -> str:
    """Tell one set of graded answers from another."""
    rows = known.select("question", "confidence", "correct").rows()
    return sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _states(known: DataFrame, column: str | None) -> tuple[Ints, tuple[str, ...]]:
    import polars as pl

    if column is None and EVIDENCE not in known.columns:
        return np.full(known.height, -1, dtype=np.intp), ()
    column = column or EVIDENCE
    _need(known, column, "state")
    texts = known[column].cast(pl.String).str.strip_chars().str.to_lowercase()
    names = tuple(sorted({text for text in texts if text}))
    number = {name: i for i, name in enumerate(names)}
    return np.array([number.get(text or "", -1) for text in texts], dtype=np.intp), names


def _signal(known: DataFrame, column: str | None) -> Floats | None:
    if column is None:
        return None
    _need(known, column, "signal")
    return _numbers(known[column], column)


def _weight(known: DataFrame, column: str | None) -> Floats | None:
    if column is None and WEIGHT not in known.columns:
        return None
    column = column or WEIGHT
    _need(known, column, "weight")
    weight = _numbers(known[column], column)
    if not (weight > 0).all():
        raise DataError(
            "a weight is missing, or not above zero.",
            hint="say how many answers each row stands for; rows that were not picked have 1.",
            column=column,
        )
    return weight


def _numbers(values: Series, column: str) -> Floats:
    import polars as pl

    made = values.cast(pl.Float64, strict=False)
    if made.null_count() > values.null_count():
        row = int((made.is_null() & values.is_not_null()).arg_true()[0])
        raise DataError(
            f"{values[row]!r} is not a number.",
            hint="write numbers, or leave the cell empty where there is none.",
            row=row + 1,
            column=column,
        )
    return made.fill_null(float("nan")).to_numpy()


def _need(known: DataFrame, column: str, parameter: str) -> None:
    if column not in known.columns:
        raise UsageError(
            f"the table has no column {column!r} (`{parameter}`); it has"
            f" {', '.join(map(repr, known.columns))}"
        )


def _model(known: DataFrame, given: str) -> str:
    return given if given != UNKNOWN else _only(known, "model") or UNKNOWN


def _prompt(known: DataFrame, given: str) -> str:
    name = given if given != UNKNOWN else _only(known, "strategy") or UNKNOWN
    return STRATEGIES[name].template.hash if name in STRATEGIES else name


def _only(known: DataFrame, column: str) -> str | None:
    """Return the one value of a column; None where the table says nothing."""
    import polars as pl

    if column not in known.columns:
        return None
    found = known[column].cast(pl.String).drop_nulls().unique().sort().to_list()
    if len(found) > 1:
        shown = ", ".join(map(repr, found[:4]))
        raise UsageError(
            f"the rows are of {len(found)} values of {column!r} ({shown}): each wants a calibration"
            " of its own. Keep the rows of one."
        )
    return str(found[0]) if found else None
