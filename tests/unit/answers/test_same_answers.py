"""A file, its frame, what was read of it, a run and an audit: the same results from each."""

from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from io import BytesIO

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import (
    AnswerSource,
    Columns,
    DataError,
    UsageError,
    apply_calibration,
    calibrate,
    compare,
    gate,
    measure,
    open_run,
    pick_answers,
    read_answers,
)
from novarag.answers.opening.beside import add_overlap
from novarag.calibration import calibration_file
from novarag.calibration import gate as gates
from novarag.gateway.audit import graded as audit
from novarag.metrics.views import OVERLAP
from novarag.report import Heading, to_json
from novarag.report.comparison import comparison_json
from tests.support.simulated import simulate, write_run


def draw(seed, questions=80):
    """Draw a table: a model that boasts, two answers a question, some unread or not graded."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(2 * questions):
        stated = float(rng.choice([0.2, 0.5, 0.7, 0.9, 1.0]))
        rows.append(
            {
                "question": f"Question {seed} of {'abcdefghij'[i // 2 % 10]}{i // 20}?",
                "confidence": None if rng.random() < 0.05 else stated,
                "correct": None if rng.random() < 0.05 else bool(rng.random() < stated - 0.1),
                "evidence": str(rng.choice(["consistent", "conflicting"])),
                "answer": f"answer {i}",
                "system": "ab"[i % 2],
            }
        )
    return pl.DataFrame(rows)


class Streamed:
    """An Arrow table, or a pandas frame: it can do no more than hand out a stream."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self.frame.__arrow_c_stream__(requested_schema)


def in_csv(frame, folder, seed):
    path = folder / f"{seed}.csv"
    frame.write_csv(path)
    return path


def in_parquet(frame, folder, seed):
    path = folder / f"{seed}.parquet"
    frame.write_parquet(path)
    return path


def in_lines(frame, folder, seed):
    path = folder / f"{seed}.jsonl"
    frame.write_ndjson(path)
    return path


FORMS = {
    "a csv file": in_csv,
    "a parquet file": in_parquet,
    "lines of json": in_lines,
    "an open file": lambda frame, *_: BytesIO(frame.write_csv().encode()),
    "a frame": lambda frame, *_: frame,
    "a frame of texts": lambda frame, *_: frame.cast(pl.String),
    "an Arrow stream": lambda frame, *_: Streamed(frame),
    "an iterator": lambda frame, *_: iter(frame.to_dicts()),
    "read answers of a file": lambda *a: read_answers(in_csv(*a)),
    "what was read": lambda *a: read_answers(in_csv(*a)).table,
}


def measured(answers, _):
    found = replace(measure(answers, by="system", replicates=20), sources=())
    return to_json(found, Heading(title="t", sources=(), made="", version="", notes=found.notes))


def calibrated(answers, _):
    return calibration_file.to_json(calibrate(answers))


def gated(answers, _):
    return gates.to_json(gate(answers, risk=0.4))


def compared(answers, other):
    found = compare(answers, other, by="system", replicates=20)
    return comparison_json(replace(found, new=(), old=()))


def picked(answers, _):
    found = pick_answers(answers, n=20)
    rows = found.rows.select("question", "confidence", "evidence", "answer", "weight", "stratum")
    return [*rows.rows(), found.sheet, found.states, found.unread, *map(asdict, found.strata)]


def applied(answers, other):
    made = apply_calibration(answers, calibrate(other))
    return made.select("question", "confidence", "^calibra.*$").rows()


VERBS = [measured, calibrated, gated, compared, picked, applied]


@pytest.mark.parametrize("verb", VERBS)
def test_every_form_of_a_table_gives_the_same_result(verb, tmp_path):
    frame, other = draw(1), draw(2)
    expected = verb(in_csv(frame, tmp_path, 1), in_csv(other, tmp_path, 2))
    for name, form in FORMS.items():
        assert verb(form(frame, tmp_path, 1), form(other, tmp_path, 2)) == expected, name


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Write two finished runs of the same questions."""
    places = []
    for seed in (1, 2):
        place = tmp_path_factory.mktemp("run") / "run"
        write_run(place, simulate(40, samples=2, models=("alpha",), seed=seed))
        places.append(place)
    return places


RUN_FORMS = {
    "its address": str,
    "a run": open_run,
    "a list of it": lambda place: [place],
    "trials": lambda place: list(open_run(place)),
    "an iterator of trials": lambda place: iter(open_run(place)),
    "read answers": read_answers,
    "read answers of trials": lambda place: read_answers(list(open_run(place))),
}


JUDGED = {"group_judgment", "passage_judgment"}
"""Figures of what a run's table holds beside its trials; in this one they differ."""


def measured_run(answers, _):
    found = measure(answers, by="kind", replicates=20)
    panels = [found.overall, *found.groups]
    figures = [{n: f for n, f in p.figures.items() if n not in JUDGED} for p in panels]
    return [found.overall.rows, found.overall.baselines, figures]


def compared_runs(answers, other):
    found = compare(answers, other, by="kind", replicates=20)
    return comparison_json(replace(found, new=(), old=(), notes=()))


@pytest.mark.parametrize("verb", [measured_run, calibrated, gated, compared_runs, picked])
def test_every_form_of_a_run_gives_the_same_result(verb, runs):
    expected = verb(*runs)
    for name, form in RUN_FORMS.items():
        assert verb(*map(form, runs)) == expected, name


def test_a_word_overlap_baseline_is_fitted_on_a_run_however_it_was_read(runs):
    assert OVERLAP not in read_answers(runs[0]).table.columns
    forms = (runs[0], list(open_run(runs[0])), read_answers(runs[0]))
    given = [add_overlap(read_answers(form)).table[OVERLAP] for form in forms]
    assert given[0].equals(given[1])
    assert given[0].equals(given[2])
    assert given[0].null_count() == 0


class Connection:
    """A database that holds the feedback of an audit, as far as it is asked."""

    def __init__(self, frame):
        self.frame = frame

    async def fetch(self, _, model, since, until):
        return self.frame.to_dicts()


def test_an_audit_is_read_as_its_frame_is(monkeypatch, tmp_path):
    frame = draw(3).drop_nulls().drop("answer", "system")
    frame = frame.with_columns(
        model=pl.lit("llama"), strategy=pl.lit("0123456789abcdef"),
        id=pl.int_range(pl.len()).cast(pl.String),
    )  # fmt: skip

    @asynccontextmanager
    async def open_connection(dsn, **_):
        yield Connection(frame)

    monkeypatch.setattr(audit, "open_connection", open_connection)
    day = datetime(2026, 1, 31, tzinfo=UTC)
    found = audit.read_graded("dsn", "support", day, day)
    path = in_csv(frame, tmp_path, 3)
    for verb in (calibrated, gated):
        assert verb(found, None) == verb(path, None) == verb(read_answers(found), None)
    assert calibrate(found).source == AnswerSource(model="llama", prompt="0123456789abcdef")
    of_audit, of_file = (measure(one, replicates=20).overall for one in (found, path))
    assert of_audit.figures == of_file.figures


CELLS = st.sampled_from(
    ["0.9", "0.25", "90%", "85 %", "9/10", "90", "5", "1", "0", "0,5", "", "n/a", "-1", "high"]
)
GRADES = st.sampled_from(["true", "false", "1", "0", "up", "down", "", "5", "meh"])


@given(st.lists(st.tuples(CELLS, GRADES), min_size=1, max_size=6))
def test_a_file_and_its_frame_are_read_alike_or_refused_alike(rows):
    frame = pl.DataFrame(
        [
            {"question": f"q{i}", "confidence": cell, "correct": grade}
            for i, (cell, grade) in enumerate(rows)
        ]
    )
    of_file, of_frame = outcome(BytesIO(frame.write_csv().encode())), outcome(frame)
    assert of_file == of_frame
    if isinstance(of_frame, list):
        table = read_answers(frame).table
        assert read_answers(table).table.equals(table)


def outcome(answers):
    try:
        return read_answers(answers).table.select("question", "confidence", "correct").rows()
    except DataError as error:
        return [str(error).replace("standard input", "the table")], type(error)


def test_what_was_read_already_is_not_read_in_another_way():
    read = read_answers(draw(1), source="llama")
    assert read_answers(read) is read
    assert read.source == AnswerSource(model="llama")
    for more in ({"columns": Columns()}, {"reader": "nova"}, {"source": "qwen"}):
        with pytest.raises(UsageError, match="were read already"):
            read_answers(read, **more)
    assert calibrate(read).source.model == "llama"
    assert repr(read) == f"Answers: {len(read)} rows of 80 questions"


def test_a_label_of_a_model_and_its_prompt_goes_along():
    source = AnswerSource(model="llama", prompt="abc")
    assert calibrate(draw(1), source=source) == calibrate(read_answers(draw(1), source=source))
    with pytest.raises(UsageError, match="'llama', these answers are of 'qwen'"):
        apply_calibration(draw(2), calibrate(draw(1), source=source), source="qwen")
