"""Attacking a model through its passages: the plan, the runs, what a caller gets, the rates."""
