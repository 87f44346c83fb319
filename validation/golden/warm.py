"""A Python that has imported our dependencies, but nothing of ours, and forks for every command.

Most of a short command's time goes into imports of numpy, polars and scipy; both installs share
those. What is forked runs `python -m novarag` as a fresh Python would. Orders come in as JSON lines
on one pipe, exit codes go out on another: `python warm.py IN OUT`.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

SHARED = (
    "aiohttp", "asyncio", "click", "concurrent.futures", "csv", "email.utils", "jinja2", "numpy",
    "numpy.random", "orjson", "polars", "rich.console", "rich.markdown", "rich.panel", "rich.table",
    "rich.traceback", "scipy.linalg", "scipy.optimize", "scipy.special", "scipy.stats", "tomllib",
    "typer", "typer.rich_utils",
)  # fmt: skip
TIMED_OUT = -1


def main() -> None:
    """Serve orders until there are no more; what is forked leaves by its own exit."""
    orders, answers = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
    for name in SHARED:
        with suppress(ImportError):
            import_module(name)
    if loaded := [name for name in sys.modules if name.partition(".")[0] == "novarag"]:
        raise SystemExit(f"{loaded[0]} is imported before any command")
    gc.freeze()
    for line in orders:
        order = json.loads(line)
        process = os.fork()
        if not process:
            orders.close()
            answers.close()
            _become(order)
            return
        answers.write(f"{_wait(process, order['longest'])}\n")
        answers.flush()


def _become(order: dict[str, Any]) -> None:
    """Run a command in this process, to its exit."""
    os.chdir(order["folder"])
    for number, flags in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
        file = os.open(order["streams"][number], flags)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["novarag", *order["words"]]
    sys.path[0] = order["folder"]  # where `python -m` looks first
    runpy.run_module("novarag", run_name="__main__", alter_sys=True)


def _wait(process: int, longest: float) -> int:
    until = time.monotonic() + longest
    while time.monotonic() < until:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return TIMED_OUT


if __name__ == "__main__":
    main()
