"""Odd calls of the command line: odd files and values, calls made of them, and their running."""
