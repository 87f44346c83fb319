"""Runs with real weights: `python -m experiments.NAME` from the root."""
