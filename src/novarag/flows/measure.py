"""Measure how honest stated confidences are, and write a report."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.defaults import MEASURE
from novarag.flows.answers import collect_answers
from novarag.flows.decisions import decide_panels, examples_behind
from novarag.flows.events import Advanced, TableRead, Wrote, silent
from novarag.flows.remarks import MEASURED_APART, gate_refusals, table_remarks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polars import DataFrame

    from novarag.calibration.calibration import Calibration
    from novarag.datasets import Columns
    from novarag.flows.events import Tell
    from novarag.metrics import Measurement
    from novarag.report import Heading
    from novarag.strategies import Labels
    from novarag.strategies.confidence import Scale

TITLE = "How honest is the confidence?"
REPLICATES = MEASURE.replicates
"""Bootstrap replicates behind each interval, unless told otherwise."""


def measure(
    answers: object,
    *,
    by: str | Sequence[str] = (),
    columns: Columns | None = None,
    strategy: str | Labels = "nova",
    scale: Scale | None = None,
    mix: str | Path | Mapping[str, float] | None = None,
    calibration: str | Path | Calibration | None = None,
    calibrate: bool = False,
    other_source: bool = False,
    out: str | Path | None = None,
    title: str = TITLE,
    notes: Sequence[str] = (),
    texts: bool = True,
    replicates: int = REPLICATES,
    seed: int = 0,
    least: int | None = None,
    tell: Tell = silent,
) -> Measurement:
    """Measure calibration, discrimination and selective risk, with intervals and baselines.

    `answers` is a file, the folder of a run, several of them, a `Run`, trials, or any table
    (polars, pandas, Arrow, rows as dicts). `columns` says which columns mean what; with
    `columns.reply` raw replies are read as `strategy` lays them out. `by` names columns to group
    by. `mix` (a mapping, or the profile.json of `annotate`) weighs the answers to that mix of
    groups too. `calibration` sets the confidences it gives beside the stated ones; it must not
    have seen these questions, nor be of another model or prompt unless `other_source`.
    `calibrate=True` does so with calibrations fitted on the other questions of the same table
    (cross-fitted). With `out` a report is written there; where the table has texts of questions or
    answers it shows some, unless `texts=False`. Intervals resample questions, not rows; fewer than
    `least` rows get no figures.
    """
    from novarag.metrics import LEAST_ROWS, measure_table

    by = (by,) if isinstance(by, str) else tuple(by)
    wanted = _mix(mix)
    taken = collect_answers(answers, columns, _labels(columns, strategy, scale), overlap=True)
    tell(TableRead(taken.taken))
    said = [*notes, *taken.notes]
    stated = taken.table
    if calibration is not None or calibrate:
        from novarag.flows.before_after import set_beside
        from novarag.report.beside import BESIDE

        table, note = set_beside(stated, columns, calibration, seed=seed, other_source=other_source)
        taken, by, said = replace(taken, table=table), (BESIDE, *by), [*said, note]
    resampling = (replicates, seed)
    if wanted is not None:  # first, as it may be refused
        said += _weigh(taken.table, wanted, out, by, resampling, tell)
    found = measure_table(
        taken.table, by=by, replicates=replicates, seed=seed,
        least=LEAST_ROWS if least is None else least, progress=_progress(tell, replicates),
    )  # fmt: skip
    if taken.table is not stated:  # both kinds of confidence together are no answers of anybody
        alone = measure_table(stated, replicates=replicates, seed=seed)
        found = replace(found, overall=alone.overall)
    said += table_remarks(stated, columns, MEASURED_APART, apart=by)
    said += gate_refusals(stated, apart=by)
    if taken.alone:
        said.append("Every row counts as its own question.")
    decisions = decide_panels(taken.table, found, recalibrate=taken.table is stated, seed=seed)
    found = replace(found, notes=tuple(said), sources=tuple(taken.sources), decisions=decisions)
    if out is not None:
        from novarag.report import write_report

        heading = make_heading(title, sources=found.sources, notes=found.notes)
        heading = replace(heading, apart=taken.table is not stated)
        shown = examples_behind(taken.table, found, columns, seed=seed) if texts else {}
        for path in write_report(found, heading, Path(out), examples=shown):
            tell(Wrote(path))
    return found


def make_heading(title: str, *, sources: Sequence[str], notes: Sequence[str]) -> Heading:
    """Say what a report is about, made today by this version."""
    from novarag.report import Heading
    from novarag.version import __version__

    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return Heading(title=title, sources=sources, made=today, version=__version__, notes=notes)


def _progress(tell: Tell, replicates: int) -> Callable[[int], None]:
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        tell(Advanced("resampling", done, replicates))

    return progress


def _mix(mix: str | Path | Mapping[str, float] | None) -> Mapping[str, float] | None:
    from novarag.datasets.mix import read_mix

    return read_mix(Path(mix)) if isinstance(mix, (str, Path)) else mix


def _labels(columns: Columns | None, strategy: str | Labels, scale: Scale | None) -> Labels | None:
    from novarag.strategies import find_labels

    if columns is None or columns.reply is None:
        return None
    return find_labels(strategy, scale)


def _weigh(
    table: DataFrame,
    wanted: Mapping[str, float],
    out: str | Path | None,
    by: Sequence[str],
    resampling: tuple[int, int],
    tell: Tell,
) -> list[str]:
    """Weigh the answers to a mix, and say what comes of it."""
    from novarag.atomic import write_whole
    from novarag.metrics import reweigh
    from novarag.report.mixed import mixed_json, mixed_notes

    replicates, seed = resampling
    found = reweigh(table, wanted, replicates=replicates, seed=seed)
    if out is not None:
        path = Path(out) / "mixed.json"
        write_whole(path, mixed_json(found).encode())
        tell(Wrote(path))
    pooled = bool(by) and table.select(by).n_unique() > 1
    return mixed_notes(found, pooled=by if pooled else ())
