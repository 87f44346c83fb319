"""`nova-clean`: the benchmark rebuilt from the released passages so that it cannot be gamed.

Every question of a split gives three groups at k = 3, 4 and 5, all from the same sound passages,
built by `training_groups` so that groups without evidence are on the topic. Nothing is generated;
the recipe is this file, its inputs are known by their checksums.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from novarag.datasets.benchmark import (
    HOW_TO_GET,
    POOLS,
    load_benchmark,
    load_originals,
    load_pool,
)
from novarag.datasets.converters import is_table
from novarag.errors import DataError
from novarag.noise.training_groups import merge_pools
from novarag.presets.public_data import public_table
from novarag.records import PassageGroup
from novarag.seeding import rng_for

if TYPE_CHECKING:
    from collections.abc import Iterator

SPLITS = {
    "hotpotqa": ("train", "dev", "test"),
    "nq": ("test",),
    "strategyqa": ("test",),
    "bamboogle": ("test",),
}
"""The question sets and their splits; HotpotQA's training questions make train and dev."""

SIZES = (3, 4, 5)
_RECIPE = "nova-clean.json"
_SHOWN = frozenset({"Starship Poopers"})
_DEV = 0.15  # share of the questions outside the test set that tune; the rest trains


def _recipe() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = orjson.loads(
        files("novarag.datasets").joinpath(_RECIPE).read_bytes()
    )
    return found


def known_outputs() -> dict[str, str]:
    """Return the checksum that every file of `nova-clean` has."""
    return _recipe()["outputs"]


def known_former_aurocs() -> dict[str, float]:
    """Return how well the question's words told groups without evidence before the rebuild."""
    return _recipe()["formerly"]


def check_inputs(data: str | Path | None = None) -> list[str]:
    """Name every table that does not hold the rows that the register knows."""
    place = data or os.environ.get("NOVARAG_DATA")
    if not place or not (Path(place) / "naacl").is_dir():
        raise DataError(
            "the released files are not there.", hint=HOW_TO_GET, source=str(place or "")
        )
    tables = {name: public_table(name) for name in _recipe()["inputs"]}
    return [
        f"{Path(place) / name} does not hold what was released"
        for name, table in tables.items()
        if not is_table(Path(place) / name, table.converter, table.digest)
    ]


def clean_pools(name: str, *, data: str | Path | None = None) -> dict[str, list[PassageGroup]]:
    """Return each split of a question set: its questions with all passages released for them.

    A question whose text was shown as an example in a prompt of the paper is left out.
    """
    splits: dict[str, list[PassageGroup]] = {split: [] for split in SPLITS[name]}
    for source in ("train", "test"):
        if source == "train" and "train" not in splits:
            continue
        for pool in merge_pools(_rows(name, source, data)):
            if not any(shown in pool.question.text for shown in _SHOWN):
                splits[_split(source, pool)].append(pool)
    return splits


def _split(source: str, pool: PassageGroup) -> str:
    if source == "test":
        return "test"
    return "dev" if rng_for(0, pool.question.id, "split").random() < _DEV else "train"


def _rows(name: str, split: str, data: str | Path | None) -> Iterator[PassageGroup]:
    """Yield all that was released for each question; its gold passage comes first."""
    if name in POOLS:
        for question, passages in load_pool(name, data=data):
            yield PassageGroup(question=question, passages=passages)
        return
    used = {g.question.id for g in load_benchmark(name, part=split, k=3, data=data)}
    yield from (g for g in load_originals(name, part=split, data=data) if g.question.id in used)
    for k in (3, 5):
        yield from load_benchmark(name, part=split, k=k, data=data)
