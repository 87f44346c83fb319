"""Tokens that a model's server says a reply took, where it says so."""

from __future__ import annotations

import orjson

from novarag.calls import Usage

_MOST = 2**31 - 1  # as the audit's columns hold it; no reply takes as many


def read_usage(usage: object) -> Usage | None:
    """Read what a reply took; counts that are none, or too large to be one, are 0."""
    if not isinstance(usage, dict):
        return None
    prompt, reply = (
        _read_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")
    )
    return Usage(prompt=prompt, completion=reply)


def find_usage(content: bytes | None) -> Usage | None:
    """Read what a reply took from its whole JSON; None where it does not say."""
    if content is None or b'"usage"' not in content:
        return None
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return read_usage(found.get("usage")) if isinstance(found, dict) else None


def _read_count(value: object) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return int(value) if is_count else 0  # type: ignore[call-overload]
