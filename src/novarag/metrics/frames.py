"""A measurement laid out as a table, for whoever wants to go on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.metrics.panels import Measurement
    from novarag.stats.figure import Figure

SCHEMA = {
    "group": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "refusal": pl.String,
}
MACRO = "macro average"


def figures_frame(measurement: Measurement) -> pl.DataFrame:
    """Lay a measurement's figures out, one row per group and metric.

    The group is `all` for the whole table. A group that was too small to measure has one row, with
    the reason in `refusal`. `.to_pandas()` makes it a pandas frame.

    Args:
        measurement: What `measure` returned.
    """
    return pl.DataFrame(list(_rows(measurement)), schema=SCHEMA, orient="row")


def _rows(measurement: Measurement) -> Iterator[tuple[object, ...]]:
    for panel in (measurement.overall, *measurement.groups):
        if panel.refusal is not None:
            yield panel.name, None, None, None, None, panel.rows, panel.refusal
        for metric, figure in panel.figures.items():
            yield _row(panel.name, metric, figure)
    for metric, figure in measurement.macro.items():
        yield _row(MACRO, metric, figure)


def _row(group: str, metric: str, figure: Figure) -> tuple[object, ...]:
    return group, metric, figure.value, figure.low, figure.high, figure.n, None
