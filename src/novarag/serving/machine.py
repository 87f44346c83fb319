"""What this machine is to vLLM's CPU build: its arithmetic, its cores, its environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # the last on ARM


def processor() -> str:
    """Read what the system says of its processor; only Linux tells."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_dtype(processor: str) -> str:
    """Name the quickest arithmetic of a processor by what Linux says of it in /proc/cpuinfo."""
    return "float32" if _BFLOAT16.isdisjoint(processor.split()) else "bfloat16"


def cpu_environment(found: Mapping[str, str], cores: int) -> dict[str, str]:
    """Say what the CPU build needs in its environment; what is set there already stands."""
    needed = {"OMP_NUM_THREADS": str(cores), "VLLM_CPU_KVCACHE_SPACE": "2"}  # the latter in GiB
    return {name: found.get(name) or value for name, value in needed.items()}
