"""Speed and memory, beside the bare engine: `python -m benchmarks.NAME` from the root."""
