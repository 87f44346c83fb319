"""Pipelines and experiments as TOML files."""

from __future__ import annotations

from novarag.config.asking import EndpointSettings
from novarag.config.experiment import Experiment, load_experiment
from novarag.config.pipeline import Pipeline, load_pipeline

__all__ = ["EndpointSettings", "Experiment", "Pipeline", "load_experiment", "load_pipeline"]
