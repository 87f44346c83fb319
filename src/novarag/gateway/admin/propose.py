"""Closing the loop: feedback becomes a calibration or a gate, proposed beside the one in force.

Nothing goes live here: `novarag.gateway.admin.adopt` puts a proposal in force when an operator says
so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.graded_answers import shared_questions
from novarag.errors import DataError, UsageError
from novarag.flows.calibrate import (
    as_calibration,
    fit_graded,
    load_calibration,
    save_calibration,
)
from novarag.flows.events import FileWritten, silent
from novarag.gateway.admin.running import require_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from polars import DataFrame

    from novarag.calibration.brier_gain import BrierGain
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.calibration.graded_answers import AnswerSource, GradedAnswers
    from novarag.calibration.reference import DriftReference
    from novarag.flows.events import EventListener
    from novarag.gateway.settings import GatewaySettings, ModelSettings

CHOSEN = (
    "Whoever gives feedback chooses what to judge, and answers that were held back are never"
    " judged: this speaks for answers like those that were."
)
_LEAST = 30  # questions below which two calibrations are not compared


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """A model of a settings file: whose answers it gives, and where its files are or would be."""

    name: str
    settings: ModelSettings
    source: AnswerSource
    folder: Path

    def place(self, part: str) -> Path:
        """Return the file of a `calibration` or a `gate`; where none is named, the one to name."""
        named: Path | None = getattr(self.settings, part)
        if named is not None:
            return self.folder / named
        plain = re.sub(r"[^A-Za-z0-9._-]", "-", self.name)
        return self.folder / f"{plain}.{part}.json"

    def proposed(self, part: str) -> Path:
        """Return where a proposal stands: beside the file that it would replace."""
        return self.place(part).with_suffix(".proposed.json")

    def in_force(self) -> Calibration | None:
        """Return the calibration in force."""
        named = self.settings.calibration
        return None if named is None else load_calibration(self.folder / named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A calibration that feedback suggests, its file, and what it gains over the one in force.

    `gain` is None where there is too little to compare on; `notes` say why, and what to mind.
    """

    model: str
    calibration: Calibration
    path: Path
    gain: BrierGain | None
    notes: tuple[str, ...]


def propose_calibration(  # noqa: PLR0913 - settings, by keyword
    settings: str | Path,
    *,
    served: str,
    since: date | datetime | str | None = None,
    until: date | datetime | str | None = None,
    out: str | Path | None = None,
    page: str | Path | None = None,
    seed: int = 0,
    on_event: EventListener = silent,
) -> Proposal:
    """Fit a calibration on the feedback in a gateway's audit, beside the one in force.

    Nothing goes live: `adopt_proposal` puts it in force. Its gain is cross-validated by question
    and paired with what is in force now.

    Args:
        settings: The settings file of the gateway (TOML).
        served: The name by which that file serves the model whose answers were judged.
        since: The first day of the answers that are taken, or a time, in UTC where it names no
            zone; None goes back by the `days` of the part [audit].
        until: The last day of these answers, which counts whole, or a time; None means now.
        out: A file (.json) for the calibration; None puts it beside the one in force, with
            `.proposed` in its name, where `adopt_proposal` finds it.
        page: A file (.html) for a page that shows what the calibration does to each confidence.
        seed: Seed that deals the questions out to the folds of the cross-validation.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    whole, files = find_model(settings, served)
    from novarag.gateway.audit.asking import ask_database

    span = _read_span(whole, since, until)
    table, reference = ask_database(_read_graded_answers(whole, files, *span))
    rows = _collect_graded(table, files)
    made = replace(fit_graded(rows, seed=seed), reference=reference)
    path = files.proposed("calibration") if out is None else Path(out)
    save_calibration(made, path)
    on_event(FileWritten(path))
    if page is not None:
        from novarag.report.calibration import write_calibration_page

        on_event(FileWritten(write_calibration_page(made, rows, Path(page))))
    gain, notes = _measure_gain(rows, files.in_force(), seed=seed)
    return Proposal(
        model=served,
        calibration=made,
        path=path,
        gain=gain,
        notes=(*notes, *_explain_reference(reference), CHOSEN),
    )


def propose_gate(  # noqa: PLR0913 - settings, by keyword
    settings: str | Path,
    *,
    served: str,
    risk: float,
    confidence_level: float = 0.9,
    by_state: bool = False,
    calibration: str | Path | None = None,
    split: str | Path | None = None,
    since: date | datetime | str | None = None,
    until: date | datetime | str | None = None,
    out: str | Path | None = None,
    page: str | Path | None = None,
    seed: int = 0,
    on_event: EventListener = silent,
) -> Gate:
    """Set a gate on the feedback in a gateway's audit, beside the one in force.

    Nothing goes live: `adopt_proposal` puts it in force. Where no threshold can be certified, the
    gate has none and says what would do.

    Args:
        settings: The settings file of the gateway (TOML).
        served: The name by which that file serves the model whose answers were judged.
        risk: The share of the answers given that may be wrong, at most, such as 0.1.
        confidence_level: The probability that the promise holds over the draw of graded rows.
        by_state: Also try a threshold for answers beside consistent evidence alone.
        calibration: The file of a calibration whose probabilities are the scores; it must not have
            seen these questions. None takes the one in force, and stated confidences where there
            is none.
        split: A file (.json) for a new calibration, fitted on half of the questions; the gate is
            set on the other half. Where it is the model's `.proposed` file, both are adopted
            together.
        since: The first day of the answers that are taken, or a time, in UTC where it names no
            zone; None goes back by the `days` of the part [audit].
        until: The last day of these answers, which counts whole, or a time; None means now.
        out: A file (.json) for the gate; None puts it beside the one in force, with `.proposed` in
            its name, where `adopt_proposal` finds it.
        page: A file (.html) for a page that shows the path of the gate's tests.
        seed: Seed of the draw of one row for each question, and of the halves with `split`.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.flows.gate import gate

    whole, files = find_model(settings, served)
    from novarag.gateway.audit.asking import ask_database

    table, reference = ask_database(
        _read_graded_answers(whole, files, *_read_span(whole, since, until))
    )
    named = files.settings.calibration
    if calibration is None and split is None and named is not None:
        calibration = files.folder / named
    path = files.proposed("gate") if out is None else Path(out)
    made = gate(
        table, risk=risk, confidence_level=confidence_level, by_state=by_state,
        calibration=calibration, split=split,
        out=path, page=page, seed=seed, on_event=on_event,
    )  # fmt: skip
    if split is not None:
        save_calibration(replace(as_calibration(split), reference=reference), split)
    return made


def find_model(settings: str | Path, served: str) -> tuple[GatewaySettings, ModelFiles]:
    """Read a settings file, and find a model in it with its files."""
    require_extra()
    from novarag.calibration.graded_answers import AnswerSource
    from novarag.gateway.settings import read_settings
    from novarag.strategies import find_strategy

    whole = read_settings(settings)
    if served not in whole.models:
        known = ", ".join(whole.models)
        raise UsageError.saying(
            "{} has no model {!r} (`served`); it has {}", settings, served, known
        )
    found = whole.models[served]
    source = AnswerSource(model=found.name, prompt=find_strategy(found.strategy).template.hash)
    return whole, ModelFiles(
        name=served, settings=found, source=source, folder=Path(settings).parent
    )


async def _read_graded_answers(
    whole: GatewaySettings, files: ModelFiles, since: datetime, until: datetime
) -> tuple[DataFrame, DriftReference | None]:
    """Return the graded answers of a model as it is asked today, and what all of them looked like.

    Answers that it gave under another name or prompt are of another model, and left out.
    """
    import polars as pl

    from novarag.gateway.audit.graded import count_reference, read_graded_async

    dsn = find_database(whole)
    table = await read_graded_async(dsn, files.name, since, until)
    own = table.filter(
        (pl.col("model") == files.source.model) & (pl.col("strategy") == files.source.prompt)
    )
    if own.is_empty():
        raise DataError(
            f"none of the {table.height:,} judged answers of {files.name!r} is of the model and"
            " prompt that it has today.",
            hint="wait for feedback on answers of this one.",
        )
    return own, await count_reference(dsn, files.name, files.source, since, until)


def find_database(settings: GatewaySettings) -> str:
    """Return the address of a settings file's database."""
    if settings.audit is None:
        raise UsageError("this settings file has no part [audit], so there is no database")
    return settings.audit.dsn()


def _collect_graded(table: DataFrame, files: ModelFiles) -> GradedAnswers:
    from novarag.answers.opening.answers import read_answers
    from novarag.flows.remarks import calibrated_apart, remarked_rows

    return remarked_rows(read_answers(table, source=files.source), calibrated_apart)


def _measure_gain(
    rows: GradedAnswers, in_force: Calibration | None, *, seed: int
) -> tuple[BrierGain | None, tuple[str, ...]]:
    """Compare a calibration of these rows with the one in force, on questions neither has seen."""
    from novarag.calibration.brier_gain import paired_gain
    from novarag.calibration.fit_calibration import cross_fit

    after = cross_fit(rows, seed=seed)
    if in_force is None:
        return paired_gain(rows, rows.confidence, after, beside="stated confidences"), ()
    known = _find_fitted(rows, in_force)
    fresh = rows.rows(~known)
    notes: tuple[str, ...] = ()
    if known.any():
        notes = (
            f"The calibration in force was fitted on the questions of {int(known.sum()):,} of"
            f" these {len(rows):,} answers; the two were compared on the others.",
        )
    if fresh.questions < _LEAST:
        few = f"{fresh.questions} questions are too few to compare it with the one in force."
        return None, (*notes, few)
    if in_force.fusion is not None:
        fused = "It was not compared: the one in force takes scores, which the audit lacks."
        return None, (*notes, fused)
    states = [rows.state_name(number) for number in fresh.state]
    before = in_force.apply(fresh.confidence, states).probability
    gain = paired_gain(fresh, before, after[~known], beside="the calibration in force")
    return gain, notes


def _find_fitted(rows: GradedAnswers, in_force: Calibration) -> NDArray[np.bool_]:
    """Say which rows are of questions that the calibration in force was fitted on."""
    shared = shared_questions(in_force.fitted.known if in_force.fitted else "", rows.question_ids)
    number = {name: i for i, name in enumerate(rows.question_ids)}
    numbers = [number[name] for name in shared]
    return np.isin(rows.question, numbers)


def _explain_reference(reference: DriftReference | None) -> tuple[str, ...]:
    if reference is not None:
        return ()
    return (
        "Policies had questions asked again in this time, so the audit does not hold all first"
        " answers: with this calibration drift is not watched.",
    )


def _read_span(
    whole: GatewaySettings,
    since: date | datetime | str | None,
    until: date | datetime | str | None,
) -> tuple[datetime, datetime]:
    """Return the time that is meant, from its start to its end."""
    find_database(whole)
    days = 1 if whole.audit is None else whole.audit.days
    now = datetime.now(UTC)
    begin = now - timedelta(days=days) if since is None else _read_moment(since, "since")
    end = now if until is None else _read_moment(until, "until", whole_day=True)
    if begin >= end:
        raise UsageError.saying("`since` must be before `until`")
    return begin, end


def _read_moment(given: date | datetime | str, name: str, *, whole_day: bool = False) -> datetime:
    """Return the beginning of a day, or its end, or a time; without a time zone UTC is meant."""
    if isinstance(given, str):
        try:
            given = date.fromisoformat(given) if len(given) <= 10 else datetime.fromisoformat(given)
        except ValueError:
            raise UsageError.saying(
                "`{}` must be a day such as 2026-01-31, not {!r}", name, given
            ) from None
    if not isinstance(given, datetime):
        return datetime.combine(given + timedelta(days=whole_day), time(), UTC)
    return given if given.tzinfo is not None else given.replace(tzinfo=UTC)
