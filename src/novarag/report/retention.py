"""How many responses the paper kept at each stage: for display beside ours, never a target."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from novarag.presets import paper_figures

if TYPE_CHECKING:
    from collections.abc import Mapping

CITES = "NOVA: Noise-aware Verbal Confidence Calibration, table 'Training data statistics'"
_SHORT = {
    "DeepSeek-R1-Distill-Llama-8B": "DS-R1-Llama",
    "DeepSeek-R1-Distill-Qwen-7B": "DS-R1-Qwen",
    "Llama-3.1-8B-Instruct": "Llama-3.1",
    "Qwen2.5-7B-Instruct": "Qwen-2.5",
}
"""What that table calls the paper's models."""


@lru_cache(maxsize=1)
def retention() -> Mapping[str, tuple[int, ...]]:
    """Return the counts of each of the paper's models: in total, then kept after each stage."""
    kept = paper_figures("train-statistics")
    lines = kept.group_by("model", maintain_order=True).agg("value").iter_rows()
    return MappingProxyType({_SHORT[model]: tuple(map(int, counts)) for model, counts in lines})


def paper_shares(stage: int) -> list[float]:
    """Return the share each of the paper's models kept after a stage; 0 is the total."""
    return [counts[stage] / counts[0] for counts in retention().values()]
