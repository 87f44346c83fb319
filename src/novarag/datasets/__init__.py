"""Raw rows in, records out: the labelled benchmark, and users' own questions and passages."""

from __future__ import annotations

from novarag.datasets.benchmark import (
    DATASETS,
    POOLS,
    load_benchmark,
    load_originals,
    load_pool,
    strict_kind,
)
from novarag.datasets.groups import iter_groups, load_groups, parse_group

__all__ = [
    "DATASETS",
    "POOLS",
    "iter_groups",
    "load_benchmark",
    "load_groups",
    "load_originals",
    "load_pool",
    "parse_group",
    "strict_kind",
]
