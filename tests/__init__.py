"""Tests, and in `support` what they and the scripts beside them share."""
