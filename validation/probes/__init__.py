"""Probes against respondents of known truth: false alarms, power, and what is proved."""
