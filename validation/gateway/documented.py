"""Requests made from the gateway's own OpenAPI document: no fault of ours, nothing undocumented.

Schemathesis has an environment of its own; `NOVARAG_SCHEMATHESIS` is its command. It cannot know
which models there are, so half of the requests that name one get a model of the settings file:
the others are refused early.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from novarag.gateway.http.guardrail import GUARDRAIL
from validation.gateway.harness import Upstream, answers, gateway, rows, settings, tell

if TYPE_CHECKING:
    from pathlib import Path

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"  # fmt: skip
BODIES = 4  # operations that take one; there is little to vary in the others
AUDITED = ("/v1/chat/completions", "/v1/score")
HOOKS = """
import schemathesis

MODELS = ("held", "live")
made = 0


@schemathesis.hook
def map_body(context, body):
    global made
    if isinstance(body, dict) and isinstance(body.get("model"), str):
        made += 1
        if made % 4 < len(MODELS):
            return {**body, "model": MODELS[made % 4]}
    return body
"""


async def documented(folder: Path, examples: int = 5_000) -> bool:
    """Make so many requests for each operation of the document."""
    program = os.environ.get("NOVARAG_SCHEMATHESIS", "schemathesis")
    async with Upstream(answers) as upstream, gateway(settings(folder, upstream.url)) as served:
        command = [
            program, "run", f"{served.address}/openapi.json", "--checks", CHECKS, "--seed", "1",
            "--max-examples", str(examples), "--phases", "examples,coverage,fuzzing",
            "--report", "har", "--report-har-path", str(folder / "asked.har"),
            # With a database Hypothesis keeps a Pareto front, whose upkeep grows with its square.
            "--generation-database", "none",
        ]  # fmt: skip
        (folder / "hooks.py").write_text(HOOKS)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        environment |= {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(folder)}
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
        print("\n".join(line for line in said.splitlines() if line.startswith("- "))[:3000])
    log = (folder / "log").read_text("utf-8", "replace")
    faults = log.count('"event":"fault"') + log.count("Traceback")
    asked = _posted(folder / "asked.har")
    due, kept = sum(map(_leaves_a_row, asked)), len(rows(folder))
    for one in asked:
        if one["response"]["status"] >= 500:
            print("    ", one["response"]["status"], _path(one), one["response"]["content"])
    answered = sum(one["response"]["status"] == 200 for one in asked)
    figures = {
        "cases": made, "exit": process.returncode, "alive": alive, "posted": len(asked),
        "of status 200": answered, "that leave a row": due, "rows": kept, "faults in the log": faults,
    }  # fmt: skip
    sound = alive and not process.returncode and not faults
    holds = sound and made >= BODIES * examples and kept == due > 0
    return tell("requests made from the document", figures, holds=holds)


def _posted(path: Path) -> list[dict[str, Any]]:
    """Return the exchanges of a recording that were requests to one of the routes with a body."""
    entries = json.loads(path.read_text("utf-8"))["log"]["entries"]
    routes = {*AUDITED, GUARDRAIL, "/v1/feedback"}
    return [
        one for one in entries
        if one["request"]["method"] == "POST" and _path(one) in routes
    ]  # fmt: skip


def _path(one: dict[str, Any]) -> str:
    return urlsplit(one["request"]["url"]).path


def _leaves_a_row(one: dict[str, Any]) -> bool:
    """Say whether the audit must have a row: of all but feedback, and a proxy's own requests."""
    if _path(one) in AUDITED:
        return True
    reply = one["response"]
    names = {header["name"].lower() for header in reply["headers"]}
    passed = reply["status"] == 200 and '"NONE"' in reply["content"].get("text", "")
    return _path(one) == GUARDRAIL and not (passed and "x-novarag-id" not in names)
