"""The figures the paper prints, as data: for display beside ours, never a target.

`paper.json` is made by `tools/paper_figures.py`, which checks every number against the line of the
LaTeX source it stands on. Shares and differences are fractions: "1.20 %" is 0.012.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "table": pl.String,
    "line": pl.Int64,
    "k": pl.Int64,
    "retriever": pl.String,
    "model": pl.String,
    "method": pl.String,
    "setting": pl.String,
    "position": pl.Int64,
    "dataset": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "note": pl.String,
}
"""One row per printed number. `table` is the paper's label, or `text` where its prose says it;
`line` counts in the LaTeX source; null means that the paper does not say, or that it does not
apply."""


@lru_cache(maxsize=1)
def _all() -> pl.DataFrame:
    text = files("novarag").joinpath("presets", "paper.json").read_text("utf-8")
    return pl.DataFrame(list(_rows(json.loads(text))), schema=SCHEMA)


def _rows(paper: dict[str, Any]) -> Iterator[dict[str, object]]:
    """Lay the file out: a table names its columns once, a line holds one value for each."""
    for table in paper["tables"]:
        shared = {"table": table["table"], **table["all"]}
        for line in table["lines"]:
            notes = line.get("notes", {})
            columns = zip(table["columns"], line["values"], strict=True)
            for i, ((dataset, metric), value) in enumerate(columns):
                note = " ".join(n for n in (notes.get(str(i)), table.get("note")) if n) or None
                cell = {"dataset": dataset, "metric": metric, "value": value, "note": note}
                yield dict.fromkeys(SCHEMA) | shared | line["of"] | {"line": line["line"]} | cell
    for row in paper["text"]:
        yield dict.fromkeys(SCHEMA) | {"table": "text"} | row


def paper_tables() -> list[str]:
    """Name the tables that hold figures, in the order of the paper's source; `text` is last."""
    return _all()["table"].unique(maintain_order=True).to_list()


def paper_figures(
    table: str | None = None,
    *,
    model: str | None = None,
    method: str | None = None,
    dataset: str | None = None,
    metric: str | None = None,
) -> pl.DataFrame:
    """Return the paper's printed figures, one row per number, narrowed by what is named."""
    found = _all()
    wanted = {
        "table": table and table.rpartition(":")[2],
        "model": model,
        "method": method,
        "dataset": dataset,
        "metric": metric,
    }
    for column, name in wanted.items():
        if name is not None:
            known = _all()[column].drop_nulls().unique()
            if name not in known:
                raise UnknownNameError(name, known)
            found = found.filter(pl.col(column) == name)
    return found
