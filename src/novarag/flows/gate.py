"""Set a gate on graded answers: a threshold with a promise, or what it would take to have one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from novarag.calibration.calibration_file import score_name
from novarag.calibration.gate import STATED, Gate, from_json, to_json
from novarag.errors import UsageError
from novarag.flows.calibrate import (
    as_calibration,
    check_source,
    check_unseen,
    fit_graded,
    name_scores,
    save_calibration,
)
from novarag.flows.events import FileWritten, TableRead, silent
from novarag.flows.kept import read_kept, write_kept
from novarag.flows.remarks import gated_apart, remarked_rows
from novarag.flows.scores import needs_calibration
from novarag.prose import say
from novarag.seeding import seed_for
from novarag.taxonomy import EvidenceState

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.fit_gate import RowChoice
    from novarag.calibration.graded_answers import AnswerSource, GradedAnswers
    from novarag.flows.events import EventListener
    from novarag.stats.arrays import Floats
    from novarag.strategies import Labels


class _GateRows(NamedTuple):
    """The rows that a gate is set on, their scores, and what the scores are called."""

    rows: GradedAnswers
    score: Floats
    name: str


def gate(
    answers: object,
    *,
    risk: float,
    confidence_level: float = 0.9,
    by_state: bool | str = False,
    calibration: str | Path | Calibration | None = None,
    split: str | Path | None = None,
    rows: RowChoice = "one",
    columns: Columns | None = None,
    reader: str | Labels | None = None,
    source: str | AnswerSource | None = None,
    other_source: bool = False,
    out: str | Path | None = None,
    page: str | Path | None = None,
    seed: int = 0,
    on_event: EventListener = silent,
) -> Gate:
    """Set a gate: a threshold whose answers are wrong at most at `risk`.

    Where no threshold can be certified, the gate has none and says what would do.

    Args:
        answers: A table of graded answers: an `Answers`, or what `read_answers` takes, such as a
            file, a run's folder or a frame.
        risk: The largest share of the answers given that may be wrong, between 0 and 1.
        confidence_level: Probability of the promise, over the draw of the graded rows.
        by_state: Also try a threshold for answers beside consistent evidence alone, or beside the
            evidence state that it names.
        calibration: A calibration or its file, fitted on other questions: the threshold is one of
            its confidences. None takes the stated ones.
        split: A file (.json) for a calibration that is fitted here on half of the questions; the
            gate is set on the other half. It does not go with `calibration`.
        rows: "one" takes one row a question, drawn by seed; "all" takes every row, and the promise
            is an approximation.
        columns: Which columns hold what, where their names do not say it; those of the evidence
            state, scores, a signal and a weight, too.
        reader: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column; None takes `nova`.
        source: The name of the model the answers are of, or an `AnswerSource`, which
            names the prompt too; None takes them from the columns `model` and `strategy`.
        other_source: Take a `calibration` fitted on answers of another model or prompt, which is
            refused otherwise.
        out: A file (.json) to keep the gate in; None keeps it in memory alone.
        page: A file (.html) for a page that shows the path of the gate's tests.
        seed: Seed of the row drawn of each question, of the halves of `split`, and of the thinning
            of rows with unequal weights.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.answers.opening.answers import read_answers
    from novarag.calibration.fit_gate import check_chances, fit_gate

    check_chances(risk, confidence_level)
    if split is not None and calibration is not None:
        raise UsageError.saying("give a `calibration`, or have one fitted with `split`; not both")
    if calibration is not None:
        calibration = as_calibration(calibration)
        columns = name_scores(answers, columns, calibration)
    taken = read_answers(answers, columns=columns, reader=reader, source=source)
    on_event(TableRead(taken.taken))
    graded = remarked_rows(taken, gated_apart)
    if split is not None:
        scored = _split(graded, Path(split), seed, on_event)
    else:
        scored = _scores(graded, calibration, other_source=other_source)
    state = str(EvidenceState.CONSISTENT) if by_state is True else by_state or None
    made = fit_gate(
        scored.rows,
        risk=risk,
        confidence_level=confidence_level,
        score=scored.score,
        state=state,
        rows=rows,
        seed=seed,
    )
    made = _stamped(made, scored.name)
    _write(made, out, page, on_event)
    return made


def save_gate(gate: Gate, path: str | Path) -> None:
    """Keep a gate as one readable JSON file with a checksum of its own.

    Args:
        gate: The gate to keep.
        path: The file to write; an earlier one is replaced.
    """
    write_kept(to_json(gate), path)


def load_gate(path: str | Path) -> Gate:
    """Read a gate; a file that was changed by a byte is refused.

    Args:
        path: The file that `save_gate` wrote, or `gate` with `out`.
    """
    content = read_kept(path, what="gate", again=say("set it again with `gate(...)`."))
    return from_json(content, source=str(path))


def as_gate(given: str | Path | Gate) -> Gate:
    """Take a gate, or the file of one."""
    if isinstance(given, (str, Path)):
        return load_gate(given)
    if isinstance(given, Gate):
        return given
    raise TypeError(f"gate must be a Gate or its file, not {type(given).__name__}")


def _scores(
    taken: GradedAnswers, calibration: str | Path | Calibration | None, *, other_source: bool
) -> _GateRows:
    """Return the scores of rows: as stated, or calibrated by what has not seen the questions."""
    if calibration is None:
        needs_calibration(taken)
        return _GateRows(taken, taken.confidence, STATED)
    made = as_calibration(calibration)
    if not other_source:
        check_source(made, taken.source)
    check_unseen(made, taken)
    return _calibrated(taken, made)


def _calibrated(taken: GradedAnswers, made: Calibration) -> _GateRows:
    from novarag.calibration.fused_rows import calibrate_rows

    score = calibrate_rows(made, taken).probability
    return _GateRows(taken, score, score_name(made))


def _split(taken: GradedAnswers, place: Path, seed: int, on_event: EventListener) -> _GateRows:
    """Fit a calibration on half of the questions, and return the other half with its scores."""
    names = np.unique(taken.question)
    own_seed = seed_for(seed, "gate", "split")
    first = np.random.default_rng(own_seed).permutation(names)[: (names.size + 1) // 2]
    fitting = np.isin(taken.question, first)
    halves = [_only_own_questions(taken.rows(which)) for which in (fitting, ~fitting)]
    made = fit_graded(halves[0], seed=seed)
    check_unseen(made, halves[1])
    save_calibration(made, place)
    on_event(FileWritten(place))
    return _calibrated(halves[1], made)


def _only_own_questions(rows: GradedAnswers) -> GradedAnswers:
    """Number questions anew, so that names are of these rows alone; the digest says so, too."""
    own, again = np.unique(rows.question, return_inverse=True)
    names = tuple(rows.question_ids[number] for number in own) if rows.question_ids else ()
    digest = sha256(f"{rows.digest} {own.tolist()}".encode()).hexdigest()[:16]
    return replace(rows, question=again.astype(np.intp), question_ids=names, digest=digest)


def _stamped(gate: Gate, score: str) -> Gate:
    from novarag.version import __version__

    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return replace(gate, score=score, date=today, version=__version__)


def _write(
    gate: Gate, out: str | Path | None, page: str | Path | None, on_event: EventListener
) -> None:
    if out is not None:
        save_gate(gate, out)
        on_event(FileWritten(Path(out)))
    if page is not None:
        from novarag.report.gate import write_gate_page

        on_event(FileWritten(write_gate_page(gate, Path(page))))
