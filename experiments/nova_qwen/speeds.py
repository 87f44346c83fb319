"""How fast a server reads prompts and writes replies, by processor time: others work here, too.

Tokens a second are given for two idle cores, that is for two processor seconds of the server. What
a request costs beside its tokens (HTTP, sampling) is in it.
"""

from __future__ import annotations

import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.nova_qwen.serving import Server

AT_ONCE = (1, 8, 32)
WRITTEN = 24  # tokens of each reply
READ = 6  # prompts that are read, of which no two begin alike
CORES = 2
FILE = "speeds.json"
EAGER, COMPILED = "int8, eager", "int8, compiled"


def is_worth_compiling(known: dict) -> bool:
    """Say whether the compiled server writes faster; until both were measured, it is not taken.

    >>> is_worth_compiling({COMPILED: {"failed": "it died"}, EAGER: {"written at 8": {"per_second": 9}}})
    False
    """
    eager, compiled = (
        known.get(name, {}).get("written at 8", {}).get("per_second") for name in (EAGER, COMPILED)
    )
    return bool(eager and compiled and compiled > eager)


def measure(server: Server, prompts: Sequence[str], at_once: Sequence[int] = AT_ONCE) -> dict:
    """Measure reading, then writing at each concurrency; the server is warm afterwards."""
    _complete(server, "Hello.", 4)
    found: dict = {
        "read": _timed(server, [f"{i}. {p}" for i, p in enumerate(prompts[:READ])], 1, 1)
    }
    for count in at_once:
        short = [f"Write a long story about the number {i}." for i in range(count)]
        found[f"written at {count}"] = _timed(server, short, WRITTEN, count)
    return found


def _timed(server: Server, prompts: Sequence[str], written: int, at_once: int) -> dict:
    began, before = time.monotonic(), server.seconds()
    with ThreadPoolExecutor(at_once) as pool:
        used = list(pool.map(lambda prompt: _complete(server, prompt, written), prompts))
    cpu, wall = max(server.seconds() - before, 1), time.monotonic() - began
    tokens = sum(u["prompt_tokens"] if written == 1 else u["completion_tokens"] for u in used)
    return {
        "tokens": tokens, "cpu_s": cpu, "wall_s": round(wall, 1),
        "per_second": round(CORES * tokens / cpu, 1),
    }  # fmt: skip


def _complete(server: Server, prompt: str, written: int) -> dict:
    address, _, name = server.url.partition("=")
    body = {"model": name, "messages": [{"role": "user", "content": prompt}],
            "max_tokens": written, "temperature": 0, "ignore_eos": True}  # fmt: skip
    request = urllib.request.Request(
        f"{address}/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=3000) as reply:
        return json.load(reply)["usage"]
