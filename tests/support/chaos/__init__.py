"""Faults made on purpose, to see what the clients make of them."""
