"""Passages that mislead, distract or agree: how they are asked for, read, and checked."""

from __future__ import annotations

from novarag.noise.drafting import ALL, Draft, Noising
from novarag.noise.prompts import NOISES, Noise
from novarag.noise.replies import Candidate, read_candidates
from novarag.noise.validators import Fault, find_fault, is_placeholder

__all__ = [
    "ALL",
    "NOISES",
    "Candidate",
    "Draft",
    "Fault",
    "Noise",
    "Noising",
    "find_fault",
    "is_placeholder",
    "read_candidates",
]
