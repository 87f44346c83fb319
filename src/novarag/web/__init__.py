"""Servers over HTTP: addresses and keys, how fast to ask, and when to ask again.

Models, encoders and search servers are all asked through this room.
"""

from __future__ import annotations

from novarag.web.endpoint import Endpoint, parse_endpoint
from novarag.web.sending import Patience, Sender

__all__ = ["Endpoint", "Patience", "Sender", "parse_endpoint"]
