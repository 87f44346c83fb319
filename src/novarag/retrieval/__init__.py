"""Finding passages: engines, encoders, and the user's own search."""

from __future__ import annotations
