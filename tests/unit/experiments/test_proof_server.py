"""The proof's server: one at a time, and none is left over after a kill."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.nova import running
from experiments.nova.choosing import COMMANDS
from experiments.nova.plan import PLANS
from experiments.nova.running import Bench, ServerDied
from tests.support.waiting import wait_until

pytestmark = pytest.mark.enable_socket
FAKE = """#!{python}
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
said = sys.argv
class Models(BaseHTTPRequestHandler):
    def do_GET(self):
        name = said[said.index("--served-model-name") + 1]
        body = json.dumps({{"data": [{{"id": name}}]}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
HTTPServer(("127.0.0.1", int(said[said.index("--port") + 1])), Models).serve_forever()
"""


@pytest.fixture
def bench(tmp_path):
    vllm = tmp_path / "vllm"
    vllm.write_text(FAKE.format(python=sys.executable))
    vllm.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return Bench(tmp_path, tmp_path / "base", vllm, PLANS["nova"], port)


def is_gone(pid):
    path = Path(f"/proc/{pid}/stat")
    return not path.exists() or path.read_text("utf-8").split(") ")[1][0] == "Z"


def test_a_server_stays_up_for_the_same_model_and_is_gone_when_it_is_ended(bench):
    pids = []
    for _ in range(2):
        with bench.served("stock"):
            pids.append(int((bench.build / "server.pid").read_text().split()[0]))
            assert bench._names() == ["stock"]
    pid, again = pids
    assert pid == again
    bench.end_server()
    assert bench._names() == []
    assert is_gone(pid)
    assert not (bench.build / "server.pid").exists()


def test_a_server_that_a_kill_left_over_is_ended_first(bench):
    words = [bench.vllm, "serve", "--served-model-name", "old", "--port", bench.port]
    left = subprocess.Popen([str(word) for word in words], start_new_session=True)
    (bench.build / "server.pid").write_text(f"{left.pid} {bench.port}\n")
    wait_until(lambda: bench._names() == ["old"])
    with bench.served("stock"):
        assert bench._names() == ["stock"]
    assert left.wait(120) is not None
    bench.end_server()


def test_a_command_that_fails_takes_its_server_with_it(bench):
    with pytest.raises(KeyError), bench.served("stock"):
        raise KeyError
    assert bench._names() == []


def test_another_process_with_that_number_is_left_alone(bench):
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (bench.build / "server.pid").write_text(f"{other.pid} {bench.port}\n")
    bench.end_server()
    assert other.poll() is None
    other.communicate(b"\n")


def test_a_server_that_dies_is_said(bench):
    bench.vllm.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ServerDied, match="the server of stock died"), bench.served("stock"):
        pass


def test_what_a_command_takes_is_logged_also_where_it_fails_or_was_killed(bench, monkeypatch):
    monkeypatch.setattr(running, "NOTED", 0.05)
    (bench.build / running.RUNNING).write_text(json.dumps({"command": "old", "cpu_s": 7}))
    bench.run(sys.executable, "-c", "sum(range(3_000_000)); import time; time.sleep(0.3)")
    with pytest.raises(subprocess.CalledProcessError):
        bench.run(sys.executable, "-c", "raise SystemExit(3)")
    rows = [json.loads(line) for line in (bench.build / COMMANDS).read_text().splitlines()]
    assert [sorted(row)[:2] for row in rows[:2]] == [["command", "cpu_s"], ["began", "command"]]
    assert "killed" in rows[0]
    assert [row["code"] for row in rows if "code" in row] == [0, 3]
    assert not (bench.build / running.RUNNING).exists()
    assert running.seconds_of(os.getpid(), whole=True) >= 0
