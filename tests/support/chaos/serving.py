"""Start the chaos server in a process of its own, and read its bill."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]


@contextmanager
def chaos(*, faults: dict[str, float] | None = None, **options: Any) -> Iterator[str]:
    """Serve until the block ends; yields the address."""
    command = [sys.executable, "-m", "tests.support.chaos.server"]
    for name, share in (faults or {}).items():
        command += ["--fault", f"{name}={share}"]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        command += [flag] if value is True else [] if value in {False, None} else [flag, str(value)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def bill(url: str, what: str = "bill") -> dict[str, Any]:
    """Fetch what the server has on its bill."""
    with urlopen(f"{url}/{what}", timeout=60) as response:
        return json.load(response)


def kill_after(command: list[str], url: str, requests: int) -> None:
    """Run a command until the server has been asked so many more times, then kill it."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        most = bill(url, "count")["total"] + requests
        wait_until(lambda: process.poll() is not None or bill(url, "count")["total"] >= most)
        assert process.poll() is None, "it ended before it could be killed"
    finally:
        process.kill()
        process.wait()
