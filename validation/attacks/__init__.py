"""Proofs about attacks: known rates are found, text of a passage is never read, clean text passes."""
