"""Kills, disks, bills, fuzz, mutants, coverage of intervals, eye checks: `python -m validation.NAME` from the root."""
