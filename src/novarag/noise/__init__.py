"""Passages that mislead, distract or agree: how they are asked for, read, and checked."""

from __future__ import annotations

from novarag.noise.drafting import ALL, NoiseDraft, NoisePlan
from novarag.noise.prompts import NOISES, NoiseCandidate, NoiseSort, read_candidates
from novarag.noise.validators import PassageFault, find_fault, is_placeholder

__all__ = [
    "ALL",
    "NOISES",
    "NoiseCandidate",
    "NoiseDraft",
    "NoisePlan",
    "NoiseSort",
    "PassageFault",
    "find_fault",
    "is_placeholder",
    "read_candidates",
]
