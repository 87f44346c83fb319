"""How many responses the paper kept at each stage: for display beside ours, never a target.

Source: NOVA, appendix, table "Training data statistics" (tab:train-statistics), as printed.
"""

from __future__ import annotations

CITES = "NOVA: Noise-aware Verbal Confidence Calibration, table 'Training data statistics'"

RETENTION = {
    "DS-R1-Llama": (96000, 85723, 39008, 34403, 5211, 2801, 1945),
    "DS-R1-Qwen": (96000, 88201, 28481, 24586, 4611, 2801, 1945),
    "Llama-3.1": (96000, 78200, 35255, 28790, 4895, 2801, 1945),
    "Qwen-2.5": (96000, 94898, 31065, 26221, 3609, 2801, 1945),
}
"""By model: in total, then kept after each of the six stages."""


def paper_shares(stage: int) -> list[float]:
    """Return the share each of the paper's models kept after a stage; 0 is the total."""
    return [counts[stage] / counts[0] for counts in RETENTION.values()]
