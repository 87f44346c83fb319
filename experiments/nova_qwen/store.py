"""What a stage made, in `results/`: small compressed files, each whole or not there.

A stage of asking is cut into chunks of a few groups. A chunk that was asked is a table of its
replies; those that have no table are left to do. So a proof that is killed goes on from the tables
alone, on this machine or another.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from novarag.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.records import PassageGroup

RESULTS = Path(__file__).parents[1] / "nova" / "results" / "qwen"
LOG = "log.jsonl"
COLUMNS = (
    "question", "group", "kind", "strategy", "model", "sample", "answer", "confidence", "correct",
    "abstained", "flaw", "evidence", "judgments", "passages_judged", "passages_right",
    "group_judged", "group_right", "reply", "truncated", "prompt_hash",
)  # fmt: skip
"""What is kept of a trial; tokens are not, but what they say of the answer (`likelihood`) is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One stage of asking: who is asked what, by which strategy, how often, `chunk` groups a file."""

    name: str
    who: str
    split: str
    strategy: str
    longest: int
    samples: int = 1
    chunk: int = 10
    at_once: int = 16

    @property
    def is_test(self) -> bool:
        """Say whether test questions are asked."""
        return self.split.startswith("test")


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of results."""

    place: Path = RESULTS

    def file(self, asking: Asking, number: int) -> Path:
        """Name the table of a chunk."""
        return self.place / "replies" / asking.name / f"{number:03}.parquet"

    def left(
        self, asking: Asking, groups: Sequence[PassageGroup]
    ) -> list[tuple[int, list[PassageGroup]]]:
        """Return the chunks that have no table yet, with their numbers."""
        parts = [list(groups[i : i + asking.chunk]) for i in range(0, len(groups), asking.chunk)]
        return [(n, part) for n, part in enumerate(parts) if not self.file(asking, n).exists()]

    def write(self, asking: Asking, number: int, table: pl.DataFrame) -> None:
        """Put the table of a chunk in its place, whole."""
        with self.whole(self.file(asking, number)) as draft:
            table.write_parquet(draft, compression="zstd", compression_level=19, statistics=False)

    def read(self, asking: Asking, groups: Sequence[PassageGroup] | None = None) -> pl.DataFrame:
        """Read what was asked so far; with `groups`, hold it against them: all, and no other.

        Raises:
            DataError: A chunk is missing, or its replies are to other groups.
        """
        places = sorted((self.place / "replies" / asking.name).glob("*.parquet"))
        if not places:
            raise DataError(f"nothing of {asking.name!r} was asked.", hint="run its stage first.")
        table = pl.concat([pl.read_parquet(path) for path in places])
        if groups is not None and set(table["group"]) != {g.id for g in groups}:
            raise DataError(
                f"the replies of {asking.name!r} are not those of its groups.",
                hint="finish its stage; the questions are made by the seed and the shared data.",
            )
        return table

    @contextmanager
    def whole(self, path: Path) -> Iterator[Path]:
        """Hand out a draft that takes its place when all went well."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")
        yield draft
        draft.replace(path)

    def write_json(self, name: str, what: object) -> None:
        """Write a small file of facts."""
        with self.whole(self.place / name) as draft:
            draft.write_text(json.dumps(what, indent=1) + "\n", encoding="utf-8")

    def read_json(self, name: str) -> dict | None:
        """Read a file of facts, or return None."""
        path = self.place / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def log(self, **row: object) -> None:
        """Add a row to the log of what was done, when, and what it took."""
        self.place.mkdir(parents=True, exist_ok=True)
        row = {"time": datetime.now(UTC).isoformat(timespec="seconds")} | row
        with (self.place / LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")
            log.flush()
            os.fsync(log.fileno())

    def rows(self) -> list[dict]:
        """Return the rows of the log."""
        path = self.place / LOG
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
