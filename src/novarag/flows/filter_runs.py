"""Filter the trials of runs: shard by shard as far as that goes, then all that is left.

A shard holds whole questions, so the first four stages need one shard at a time. Only what they
keep, without its text, is held until the end; replies are fetched for what survives all stages.
"""

from __future__ import annotations

import io
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import polars as pl

from novarag.atomic import whole_folder
from novarag.checksums import file_checksum
from novarag.errors import StorageError, UsageError
from novarag.filters import (
    BY_GROUP,
    EVIDENCE_PASSAGES,
    OVER_ALL,
    STAGES,
    FilterTally,
    columns_for,
    funnel,
)
from novarag.flows.harvest import HarvestedTables
from novarag.flows.teacher_targets import fit_teacher_targets
from novarag.rows import parquet_bytes
from novarag.sealed_json import SEAL, seal_files
from novarag.seeding import stable_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from novarag.filters import Options
    from novarag.runs import Run

TALLY = "tally.json"
_TABLES = ("kept.parquet", "groups.parquet", TALLY)
_OURS = {*_TABLES, SEAL, "dropped", "report.html", "report.md"}
# Names of pictures that an earlier run may have left here; other files stop it.
_PICTURE = re.compile(r"funnel-[0-9]{1,6}\.svg")
_DROPPED = ("run", "question", "group", "kind", "model", "sample", "stage", "reason")
_REST = (
    "source", "shard", "row", "question", "group", "kind", "strategy", "model", "sample", "target",
)  # fmt: skip

_FLAGS = ("unfiltered", "unjudged", "tolerate_mismatch", "drop_longest")
"""Settings that are written down where they are on."""

_WHERE = ("source", "shard", "row", "target")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCounts:
    """What came of filtering: the tally as written, and how many trials and groups were kept."""

    summary: dict[str, Any]
    trials: int
    groups: int


def filter_runs(
    sources: Sequence[Run],
    out: Path,
    options: Options,
    *,
    on_event: Callable[[int], None] = lambda _: None,
    finish: Callable[[dict[str, Any], Path], object] = lambda _summary, _folder: None,
) -> FilterCounts:
    """Write what is kept of some runs, what is dropped and why, and the tally, into a folder.

    `on_event` hears of each shard that is done: once for its stages, once for its replies. `finish`
    may add files to the folder before it is put in place.
    """
    with whole_folder(out, _check_free) as draft:
        pouring = _FilterStages(sources, draft, options)
        for _ in pouring.shards():
            on_event(1)
        kept = pouring.rest()
        harvest = HarvestedTables(sources, draft)
        for _ in harvest.gather(kept):
            on_event(1)
        groups = harvest.finish()
        summary = _summary(pouring.tally, sources, options)
        if pouring.taught:
            summary["teachers"] = [taught.facts for taught in pouring.taught]
        content = orjson.dumps(summary, option=orjson.OPT_INDENT_2)
        (draft / TALLY).write_bytes(content + b"\n")
        _seal(draft)
        finish(summary, draft)
    return FilterCounts(summary=summary, trials=kept.height, groups=groups)


def pour(
    sources: Sequence[Run], folder: Path, options: Options
) -> tuple[pl.DataFrame, FilterTally]:
    """Run the stages alone: write the dropped, return where the kept are, and the tally."""
    pouring = _FilterStages(sources, folder, options)
    for _ in pouring.shards():
        pass
    return pouring.rest(), pouring.tally


def _seal(folder: Path) -> None:
    """Vouch for every table of the folder, so that `export` can tell whether one was altered."""
    dropped = sorted(f"dropped/{path.name}" for path in (folder / "dropped").iterdir())
    files = {name: file_checksum(folder / name) for name in (*_TABLES, *dropped)}
    (folder / SEAL).write_bytes(seal_files(files))


def _summary(tally: FilterTally, sources: Sequence[Run], options: Options) -> dict[str, Any]:
    runs = [
        {
            "name": source.name,
            "run": source.manifest.fingerprint,  # without the nonce: equal trials, equal bytes
            "model": source.settings.model,
            "strategy": source.settings.strategy,
            "trials": tally.kept("total", model=source.settings.model),
            "structured": _is_structured(source),
            "missing_shards": source.missing,
            "dead_requests": source.dead,
        }
        for source in sources
    ]
    return {
        "stages": list(STAGES),
        "settings": {k: v for k, v in asdict(options).items() if k not in _FLAGS or v},
        "runs": runs,
        "counts": list(tally.counts()),
        "reasons": list(tally.all_reasons()),
    }


def _is_structured(source: Run) -> bool:
    """Say whether the server was made to keep replies to a form, a pattern or a schema."""
    sampling = source.settings.sampling
    held = source.settings.structured and source.manifest.holds is not False
    return held or sampling.regex is not None or sampling.schema is not None


class _FilterStages:
    """The stages over several runs, and what they leave."""

    def __init__(self, sources: Sequence[Run], folder: Path, options: Options) -> None:
        self.sources, self.options = sources, options
        self.folder = folder / "dropped"
        self.folder.mkdir(parents=True)
        self.tally = FilterTally(tuple(STAGES))
        teaches = options.alignment == "teacher"
        self.taught = (
            [fit_teacher_targets(run, seed=options.seed) for run in sources] if teaches else []
        )
        self._left: list[bytes] = []  # as Parquet: a frame would hold on to the shard it came from
        self._written = 0

    def shards(self) -> Iterator[None]:
        """Take each shard of each run through the stages that need no more than that."""
        for number, source in enumerate(self.sources):
            whole = WholeQuestions(source.name)
            for shard in source.finished:
                trials = self._table(source, shard)
                whole.see(shard, trials["question"])
                self._pour(number, shard, trials)
                yield
            whole.check()

    def _table(self, source: Run, shard: int) -> pl.DataFrame:
        """Read what the stages need of a shard, and of its groups where they ask for it."""
        columns = columns_for(BY_GROUP, self.options)
        if EVIDENCE_PASSAGES not in columns:
            return source.table(shard, columns)
        trials = source.table(shard, [name for name in columns if name != EVIDENCE_PASSAGES])
        known = {group.id: group.evidence for group in source.groups(shard)}
        counts = [known.get(name) for name in trials["group"]]
        return trials.with_columns(pl.Series(EVIDENCE_PASSAGES, counts, dtype=pl.Int64))

    def _pour(self, number: int, shard: int, trials: pl.DataFrame) -> None:
        model = self.sources[number].settings.model
        placed = trials.with_row_index("row").with_columns(model=pl.lit(model))
        if self.taught:
            placed = placed.with_columns(target=self.taught[number].targets[shard])
        found = funnel(placed, BY_GROUP, options=self.options)
        self.tally.total.update(found.tally.total)
        where = {
            "source": pl.lit(number, dtype=pl.UInt32),
            "shard": pl.lit(shard, dtype=pl.UInt32),
        }
        self._drop(found.dropped.with_columns(run=pl.lit(self.sources[number].name)), found.tally)
        self._left.append(parquet_bytes(found.kept.with_columns(**where).select(_REST)))

    def _drop(self, dropped: pl.DataFrame, tally: FilterTally) -> None:
        self.tally.dropped.update(tally.dropped)
        name = f"{self._written:05}.parquet"
        (self.folder / name).write_bytes(parquet_bytes(dropped.select(_DROPPED)))
        self._written += 1

    def rest(self) -> pl.DataFrame:
        """Take all that is left through the remaining stages; return where the kept are."""
        left = pl.concat(pl.read_parquet(io.BytesIO(part)) for part in self._left)
        self._left.clear()
        found = funnel(left, OVER_ALL, options=self.options)
        names = dict(enumerate(source.name for source in self.sources))
        run = pl.col("source").replace_strict(names, return_dtype=pl.String)
        self._drop(found.dropped.with_columns(run=run), found.tally)
        return found.kept.select(_WHERE).sort("source", "shard", "row")


class WholeQuestions:
    """Sees to it that no question is in two shards of a run; eight bytes a question are kept."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._seen: list[np.ndarray] = []
        self._shards: list[int] = []

    def see(self, shard: int, questions: pl.Series) -> None:
        """Take note of the questions of a shard."""
        self._seen.append(np.array([stable_hash(q) for q in questions.unique()], dtype=np.uint64))
        self._shards.append(shard)

    def check(self) -> None:
        """Raise `StorageError` where a question was seen in two shards."""
        every = np.concatenate(self._seen)
        distinct, counts = np.unique(every, return_counts=True)
        if len(distinct) < len(every):
            twice = distinct[counts > 1][0]
            found = [s for s, seen in zip(self._shards, self._seen, strict=True) if twice in seen]
            raise StorageError.saying(
                "{}: a question is in the shards {}, but a shard holds whole questions; begin the"
                " run anew with `ask(...)`",
                self.run,
                " and ".join(map(str, found)),
            )


def _check_free(out: Path) -> None:
    """Refuse a place with anything but an earlier filter's result in it."""
    if out.is_file():
        raise UsageError.saying("{} is a file; `out` takes a folder", out)
    if out.is_dir():
        names = {path.name for path in out.iterdir()}
        strange = sorted(n for n in names if n not in _OURS and not _PICTURE.fullmatch(n))
        if strange or (names and TALLY not in names):
            summary = f", such as {strange[0]!r}" if strange else ""
            raise UsageError.saying("{} has other files in it{}; give another `out`", out, summary)
