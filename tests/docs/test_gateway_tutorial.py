"""The gateway's tutorial is run as it stands, on ports of its own."""

import json
import re
import socket
import subprocess
from pathlib import Path

import pytest

from tests.docs.test_docs import environment

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorials" / "gateway.md"
BLOCK = re.compile(r"^```(sh|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def free_ports(count):
    """Find ports that nobody listens at."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@pytest.mark.enable_socket
def test_the_tutorial_does_what_it_shows(tmp_path):
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    lines = [text for kind, text in blocks if kind == "sh" and "pip install" not in text]
    script = "set -e\ntrap 'kill $(jobs -p) || true' EXIT\n" + "".join(lines)
    for port, free in zip(("8080", "9000"), free_ports(2), strict=True):
        script = script.replace(f":{port}", f":{free}").replace(f"port = {port}", f"port = {free}")
        script = script.replace(f"--port {port}", f"--port {free}")
    log = tmp_path / "log"
    with log.open("w") as file:  # a pipe would wait for the servers
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, stdout=file, stderr=file, timeout=400,
            env=environment() | {"PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
    assert done.returncode == 0, log.read_text()[-3000:]
    shown = [json.loads(text) for kind, text in blocks if kind == "json"]
    for expected, state in zip(shown, ("consistent", "conflicting"), strict=True):
        reply = json.loads((tmp_path / f"build/try/{state}.reply.json").read_text("utf-8"))
        found = {"text": reply["choices"][0]["message"]["content"], **reply["novarag"]}
        assert {name: found[name] for name in expected} == expected
