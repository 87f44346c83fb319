"""Statistics that know nothing of confidence: arrays in, arrays or figures out."""
