"""Pipelines and experiments as TOML files."""

from __future__ import annotations

from novarag.config.asking import EndpointSettings
from novarag.config.experiment import Experiment, load_experiment
from novarag.config.pipeline import REHEARSING, Pipeline, load_pipeline, rehearse_pipeline

__all__ = [
    "REHEARSING",
    "EndpointSettings",
    "Experiment",
    "Pipeline",
    "load_experiment",
    "load_pipeline",
    "rehearse_pipeline",
]
