"""What is seen of a running gateway: counts, traces, logs, drift and its status."""
