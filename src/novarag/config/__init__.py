"""Pipelines and experiments as TOML files."""

from __future__ import annotations

from novarag.config.experiment import Experiment, load_experiment
from novarag.config.pipeline import Endpoints, Pipeline, load_pipeline

__all__ = ["Endpoints", "Experiment", "Pipeline", "load_experiment", "load_pipeline"]
