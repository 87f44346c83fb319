"""Verbs of runs: folders of what models were asked and what they said."""
