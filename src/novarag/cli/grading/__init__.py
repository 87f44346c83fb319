"""Verbs of grading: which answers people grade, and what they said."""
