"""Verbs of the gateway: the server, its keys, its audit, and what it has in force."""
