"""Calibrate stated confidences, and set thresholds that keep a promise."""
