"""Requests made from the gateway's own OpenAPI document: no fault of ours, nothing undocumented.

Schemathesis has an environment of its own; `NOVARAG_SCHEMATHESIS` is its command.
"""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING

from validation.gateway.harness import Upstream, answers, gateway, settings, tell

if TYPE_CHECKING:
    from pathlib import Path

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"  # fmt: skip
BODIES = 4  # operations that take one; there is little to vary in the others


async def documented(folder: Path, examples: int = 5_000) -> bool:
    """Make so many requests for each operation of the document."""
    program = os.environ.get("NOVARAG_SCHEMATHESIS", "schemathesis")
    async with Upstream(answers) as upstream, gateway(settings(folder, upstream.url)) as served:
        command = [
            program, "run", f"{served.address}/openapi.json", "--checks", CHECKS, "--seed", "1",
            "--max-examples", str(examples), "--phases", "examples,coverage,fuzzing",
        ]  # fmt: skip
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said = (await process.communicate())[0].decode("utf-8", "replace")
        alive = served.alive()
    (folder / "schemathesis.log").write_text(said)
    found = re.search(r"(\d+) generated", said)
    made = int(found[1]) if found else 0
    if process.returncode:
        print(said[-6000:])
    log = (folder / "log").read_text("utf-8", "replace")
    figures = {
        "cases": made, "exit": process.returncode, "alive": alive,
        "traceback in the log": "Traceback" in log,
    }  # fmt: skip
    enough = made >= BODIES * examples
    holds = enough and alive and not process.returncode and "Traceback" not in log
    return tell("requests made from the document", figures, holds=holds)
