"""Raw rows in, records out: the labelled benchmark and users' own files."""

from __future__ import annotations

from novarag.datasets.answers import (
    check_answers,
    load_answers,
    read_answers,
    rows_stand_alone,
)
from novarag.datasets.benchmark import (
    DATASETS,
    POOLS,
    load_benchmark,
    load_originals,
    load_pool,
    strict_kind,
)
from novarag.datasets.columns import Columns
from novarag.datasets.frames import as_frame, take_answers
from novarag.datasets.groups import iter_groups, load_groups, parse_group

__all__ = [
    "DATASETS",
    "POOLS",
    "Columns",
    "as_frame",
    "check_answers",
    "iter_groups",
    "load_answers",
    "load_benchmark",
    "load_groups",
    "load_originals",
    "load_pool",
    "parse_group",
    "read_answers",
    "rows_stand_alone",
    "strict_kind",
    "take_answers",
]
