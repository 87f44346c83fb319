"""Presets of `novarag build`."""
