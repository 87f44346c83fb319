"""Verbs of retrieval: an index, what is found in it, and what each passage is."""
