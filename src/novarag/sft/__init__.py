"""Supervised fine-tuning: kept trials as examples to train on."""

from __future__ import annotations

from novarag.sft.examples import Example, Kept, make_examples
from novarag.sft.exporting import Options, export
from novarag.sft.filtered import Filtered, read_filtered
from novarag.sft.formats import FORMATS
from novarag.sft.lengths import MAX_LENGTH, Ruler, load_ruler

__all__ = [
    "FORMATS",
    "MAX_LENGTH",
    "Example",
    "Filtered",
    "Kept",
    "Options",
    "Ruler",
    "export",
    "load_ruler",
    "make_examples",
    "read_filtered",
]
