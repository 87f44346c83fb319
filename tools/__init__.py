"""What writes docs, figures and weights, and keeps records of long proofs: `python -m tools.NAME` from the root."""
