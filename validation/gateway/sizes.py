"""The proofs by name, each with the size that is quick enough for every change."""

from __future__ import annotations

from validation.gateway.changes import reloads, restarts, routes
from validation.gateway.costs import guardrail, pieces
from validation.gateway.documented import documented
from validation.gateway.edges import halves, headers
from validation.gateway.endings import cuts, leaving, splits, stop
from validation.gateway.hostile import hostile
from validation.gateway.injected import injections
from validation.gateway.loads import (
    connections,
    hung,
    in_flight,
    leaks,
    mistakes,
    overload,
)

PROOFS = {
    "cuts": (cuts, {"count": 60}),
    "leaving": (leaving, {"count": 20}),
    "hung": (hung, {"rounds": 3, "count": 40}),
    "in-flight": (in_flight, {"at_once": 100, "seconds": 2}),
    "mistakes": (mistakes, {"count": 200}),
    "connections": (connections, {"count": 100}),
    "leaks": (leaks, {"count": 400}),
    "routes": (routes, {"count": 2}),
    "splits": (splits, {"count": 6}),
    "stop": (stop, {"count": 10, "drain": 1}),
    "hostile": (hostile, {"count": 5}),
    "injections": (injections, {"count": 200}),
    "restarts": (restarts, {"count": 1, "rate": 30}),
    "reloads": (reloads, {"count": 10}),
    "documented": (documented, {"examples": 100}),
    "pieces": (pieces, {"count": 8_000}),
    "guardrail": (guardrail, {"count": 4_000, "step": 500, "slack": 1.5}),
    "headers": (headers, {"count": 300}),
    "halves": (halves, {"count": 60, "seconds": 1, "late": 60}),
    "overload": (overload, {"seconds": 2, "capacity": 20}),
}
"""A proof takes a folder and its size; without one it has its full size."""
