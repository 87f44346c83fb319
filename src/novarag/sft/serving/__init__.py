"""Serving what was trained: a base and its adapters on one vLLM, asked as they were trained."""

from __future__ import annotations

from novarag.sft.serving.command import Command, Options, cpu_dtype, cpu_environment
from novarag.sft.serving.models import Model, Sample, read_model
from novarag.sft.serving.preparing import Plan, plan_adapters, plan_merged
from novarag.sft.serving.process import Times, address, running
from novarag.sft.serving.server import check_server

__all__ = [
    "Command",
    "Model",
    "Options",
    "Plan",
    "Sample",
    "Times",
    "address",
    "check_server",
    "cpu_dtype",
    "cpu_environment",
    "plan_adapters",
    "plan_merged",
    "read_model",
    "running",
]
