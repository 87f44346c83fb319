"""What `filter_trials` left: the kept trials, their groups and the tally."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from novarag.errors import DataError, UsageError
from novarag.filters.options import WRITTEN
from novarag.prose import Prose, say
from novarag.sealed_json import SEAL, unseal_files
from novarag.sft.examples import KeptTrial
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from novarag.records import PassageGroup

FILES = ("kept.parquet", "groups.parquet", "tally.json", SEAL)
_AGAIN = say("run the same `filter_trials(...)` again")
COLUMNS = tuple(KeptTrial.__dataclass_fields__)
_NEEDED = tuple(c for c in COLUMNS if c not in {"kind", "correct", "reasoning", "target"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredTrials:
    """The kept trials of one model in their order, their groups by name, and the tally."""

    model: str
    kept: tuple[KeptTrial, ...]
    groups: Mapping[str, PassageGroup]
    tally: Mapping[str, Any]

    @property
    def is_written(self) -> bool:
        """Say whether the targets are to take the place of the stated confidences."""
        return self.tally.get("settings", {}).get("alignment") in WRITTEN


def read_filtered(
    folder: Path,
    *,
    model: str | None = None,
    read_groups: Callable[[bytes], list[PassageGroup]],
) -> FilteredTrials:
    """Read the folder that `filter_trials` wrote; `read_groups` knows how groups are stored."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise UsageError.saying(
            "{} is not what `filter_trials(...)` writes: it has no {}{}",
            folder,
            ", ".join(missing),
            Prose("; ", _AGAIN) if missing == [SEAL] else "",
        )
    kept, groups, tally = _contents(folder)
    frame = _frame(kept)
    if frame.is_empty():
        raise UsageError(
            f"{folder} kept no trial, so there is nothing to export; {folder / 'tally.json'} says"
            " at which stage and for which reasons they were dropped"
        )
    chosen = _choose(frame, model)
    mine = frame.filter(pl.col("model") == chosen)
    return FilteredTrials(
        model=chosen,
        kept=tuple(KeptTrial(**row) for row in mine.iter_rows(named=True)),
        groups=_groups(groups, read_groups),
        tally=_tally(tally),
    )


def _contents(folder: Path) -> list[bytes]:
    """Read the kept trials, their groups and the tally, each as it was written."""
    files = unseal_files((folder / SEAL).read_bytes())
    if files is None:
        raise _altered(SEAL)
    contents = []
    for name in FILES[:-1]:
        content = (folder / name).read_bytes()
        if name not in files or not files[name].vouches_for(content):
            raise _altered(name)
        contents.append(content)
    return contents


def _altered(source: str) -> DataError:
    return DataError(
        say("the file is damaged: it is not what `filter_trials(...)` wrote."),
        hint=f"{_AGAIN}.",
        source=source,
    )


def _frame(content: bytes) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError as error:
        raise _damaged("kept.parquet", error) from error
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(
            f"there is no column {', '.join(missing)}.",
            hint=f"{_AGAIN}.",
            source="kept.parquet",
        )
    frame = frame.select(COLUMNS)
    for name in _NEEDED:
        if empty := frame[name].null_count():
            raise DataError(
                f"{empty:,} rows are empty there.",
                hint=f"{_AGAIN}.",
                source="kept.parquet",
                column=name,
            )
    return frame


def _choose(frame: pl.DataFrame, model: str | None) -> str:
    """Pick the model: a model learns from its own replies, so one export is of one model."""
    models: list[str] = frame["model"].unique().sort().to_list()
    shown = ", ".join(plain_text(name) for name in models)
    if model is None and len(models) > 1:
        raise UsageError.saying(
            "these are replies of several models; choose with `source`: {}", shown
        )
    if model is not None and model not in models:
        raise UsageError(f"no kept reply is of the model {plain_text(model)!r}; there is: {shown}")
    return models[0] if model is None else model


def _groups(
    content: bytes, read_groups: Callable[[bytes], list[PassageGroup]]
) -> dict[str, PassageGroup]:
    try:
        return {group.id or "": group for group in read_groups(content)}
    except (pl.exceptions.PolarsError, ValueError, KeyError) as error:
        raise _damaged("groups.parquet", error) from error


def _tally(content: bytes) -> dict[str, Any]:
    try:
        tally: dict[str, Any] = orjson.loads(content)
        _ = [(row["stage"], row["kept"] + 0) for row in tally["counts"]]
        _ = [(row["stage"], row["reason"], row["count"] + 0) for row in tally.get("reasons", [])]
        _ = [run.get("model") for run in tally.get("runs", [])], {**tally.get("settings", {})}
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise _damaged("tally.json", error) from error
    return tally


def _damaged(source: str, error: Exception) -> DataError:
    said = plain_text(" ".join(str(error).split()))
    return DataError(f"the file is damaged ({said}).", hint=f"{_AGAIN}.", source=source)
