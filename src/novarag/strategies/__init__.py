"""The ways of asking. To add one: write a prompt file, build a `Strategy`, add it to the table."""

from __future__ import annotations

from novarag.records import NumberScale
from novarag.strategies.confidence import parse_confidence
from novarag.strategies.finding import find_labels, find_strategy
from novarag.strategies.labels import Labels
from novarag.strategies.reader import COMBINE, read
from novarag.strategies.table import (
    CLOSED_BOOK,
    COT,
    FORMATS,
    LABEL_ONLY,
    MULTI_STEP,
    NOISE_AWARE,
    NOVA,
    STRATEGIES,
    TOP_K,
    VANILLA,
    Strategy,
)
from novarag.strategies.template import Template, lay_out, parse_passages

__all__ = [
    "CLOSED_BOOK",
    "COMBINE",
    "COT",
    "FORMATS",
    "LABEL_ONLY",
    "MULTI_STEP",
    "NOISE_AWARE",
    "NOVA",
    "STRATEGIES",
    "TOP_K",
    "VANILLA",
    "Labels",
    "NumberScale",
    "Strategy",
    "Template",
    "find_labels",
    "find_strategy",
    "lay_out",
    "parse_confidence",
    "parse_passages",
    "read",
]
