"""The whole method with real weights on one machine."""
