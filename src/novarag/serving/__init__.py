"""Serving what was trained: a base and its adapters on one vLLM, asked as they were trained."""
