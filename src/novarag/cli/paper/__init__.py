"""Verbs of the NOVA paper: its tables, its benchmark, its data and its human study."""
