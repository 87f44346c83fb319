"""A demo: a made-up log measured, calibrated and gated, and questions to a simulated model."""
