"""A server that runs: asked for its names and tokens, started, watched, and ended with its engine."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from novarag import CallError
from novarag.cli import app
from novarag.cli.train.serve import ended_by
from novarag.errors import ServiceError, UsageError
from novarag.serving.options import ServingTimes
from novarag.serving.server import is_healthy, running
from tests.support.processes import heeding_interrupts
from tests.support.served_folder import make_base, make_model

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

STAND_IN = '''#!{python}
"""Answers as vLLM does: healthy after a moment, with an engine beside it."""
import json, os, pathlib, signal, subprocess, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
here = pathlib.Path(__file__).parent
manner = os.environ.get("MANNER", "")
engine = subprocess.Popen(["sleep", "600"])
(here / "engine").write_text(str(engine.pid))
(here / "argv").write_text(json.dumps([os.environ.get("OMP_NUM_THREADS"), *sys.argv[1:]]))
if manner == "dies":
    sys.exit(3)
if manner == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if manner == "slow":
    time.sleep(600)
after = sys.argv.index
names = ["base", *(w.split("=")[0] for w in sys.argv[after("--lora-modules") + 1:after("--max-model-len")])]
class Answer(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def say(self, told):
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.say({"data": [{"id": n} for n in names]} if self.path == "/v1/models" else {})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.say({"tokens": [] if manner == "wrong" else json.loads(os.environ["TOKENS"])})
        if manner == "ends" and asked["model"] == names[-1]:
            threading.Timer(0.5, os._exit, [7]).start()
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[after("--port") + 1])), Answer).serve_forever()
'''


@pytest.fixture
def model(tmp_path):
    return make_model(tmp_path / "one", make_base(tmp_path / "tiny"))


@pytest.fixture
def vllm(tmp_path, model, monkeypatch):
    monkeypatch.setenv("TOKENS", json.dumps(tokens(model)))
    path = tmp_path / "vllm"
    path.write_text(STAND_IN.replace("{python}", sys.executable), "utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def tokens(model):
    return json.loads((model / "training.json").read_text("utf-8"))["sample"]["tokens"]


def lives(vllm):
    """Whether the engine that the stand-in started still runs (it may not have come that far)."""
    try:
        engine = (vllm.parent / "engine").read_text("utf-8")
        stat = Path(f"/proc/{engine}/stat").read_text("utf-8")
    except FileNotFoundError:
        return False
    return stat.rsplit(") ", 1)[1][0] != "Z"


def serve(*words):
    return CliRunner().invoke(app, ["train", "serve", *map(str, words)])


@contextmanager
def server(answer):
    """A server whose replies `answer(path, body)` gives, as a status and content."""
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.path, self.headers.get("Authorization"), body))
            status, content = answer(self.path, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

    made = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_address[1]}", asked
    finally:
        made.shutdown()
        thread.join()
        made.server_close()


def vllm_of(names, by_name):
    def answer(path, body):
        if path == "/v1/models":
            return 200, json.dumps({"data": [{"id": name} for name in names]}).encode()
        assert path == "/tokenize"
        return 200, json.dumps(by_name(json.loads(body)["model"])).encode()

    return answer


def test_a_server_is_asked_for_every_name(model, monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", "sk-served")
    good = vllm_of(["one", "base", "more"], lambda name: {"tokens": tokens(model)})
    with server(good) as (url, asked):
        done = serve(model, "--check-server", f"{url}/v1/")
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith(
        "/v1/ serves base, one; all 9 tokens of the sample as in training\n"
    )
    assert {key for _, key, _ in asked} == {"Bearer sk-served"}
    assert [json.loads(body) for path, _, body in asked if path == "/tokenize"] == [
        {
            "model": name,
            "messages": [{"role": "user", "content": "who lit the lamp"}],
            "add_generation_prompt": True,
            "return_token_strs": True,
        }
        for name in ("base", "one")
    ]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"tokens": [1, 3, 7, 6]}, "token 2 is 'who' (5) in training and '?' (7) there"),
        (
            {"tokens": [1, 9], "token_strs": ["<", "\x1b9"]},
            "in training and '\\\\u001b9' (9) there",
        ),
        ({"tokens": []}, "token 0 is '<|turn|>' (1) in training and missing there"),
    ],
)
def test_other_tokens_for_one_name_are_refused_by_the_first(model, found, said):
    bad = vllm_of(["base", "one"], lambda n: found if n == "one" else {"tokens": tokens(model)})
    with server(bad) as (url, _):
        done = serve(model, "--check-server", url)
    assert isinstance(done.exception, UsageError)
    assert "the server does not ask one as it was trained" in str(done.exception)
    assert said in str(done.exception)
    assert not done.stdout


@pytest.mark.parametrize(
    "told", [[], {}, {"tokens": 3}, {"tokens": [True]}, {"tokens": [1.5]}, {"tokens": None}]
)
def test_a_reply_without_tokens_is_said(model, told):
    with server(vllm_of(["base", "one"], lambda _: told)) as (url, _):
        done = serve(model, "--check-server", url)
    assert isinstance(done.exception, CallError)
    assert "returns no tokens; is it vLLM?" in str(done.exception)


@pytest.mark.parametrize(
    ("status", "content", "kind", "said"),
    [
        (200, b'{"data": [{"id": "base"}]}', UsageError, "serves base, not one; start it with"),
        (200, b'{"data": []}', UsageError, "serves nothing, not base"),
        (404, b"<html>", UsageError, "lists no models (HTTP 404); is it vLLM?"),
        (200, b'{"data": 3}', UsageError, "lists no models"),
        (401, b"{}", CallError, "HTTP 401; is the key in NOVARAG_API_KEY right?"),
    ],
)
def test_a_server_that_lacks_a_name(model, status, content, kind, said):
    with server(lambda path, body: (status, content)) as (url, _):
        done = serve(model, "--check-server", url)
    assert isinstance(done.exception, kind)
    assert said in str(done.exception)


def test_nobody_there(model, port):
    done = serve(model, "--check-server", f"http://127.0.0.1:{port}")
    assert isinstance(done.exception, ServiceError)
    assert "cannot connect" in str(done.exception)


def command(vllm, model, port, *more):
    words = ["train", "serve", model, "--run", "--vllm", vllm, "--port", port, *more]
    return heeding_interrupts("-m", "novarag", *map(str, words))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_is_started_checked_and_ended_with_its_engine(vllm, model, port, number):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    process = subprocess.Popen(
        command(vllm, model, port, "--cpu"),
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines = []
    while not lines or "serves" not in lines[-1]:
        lines.append(process.stdout.readline())
        assert lines[-1], process.stderr.read()
    assert f"127.0.0.1:{port} serves base, one; all 9 tokens" in lines[-1]
    assert lives(vllm)
    assert is_healthy("0.0.0.0", port)
    threads, *words = json.loads((vllm.parent / "argv").read_text())
    assert threads == str(len(os.sched_getaffinity(0)))
    assert words[:4] == ["serve", str(vllm.parent / "tiny"), "--served-model-name", "base"]
    assert words[-2:] == ["--port", str(port)]
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], said
    assert "Traceback" not in said
    assert not lives(vllm)
    assert not is_healthy("127.0.0.1", port)


def test_a_server_that_asks_otherwise_is_stopped(vllm, model, port, monkeypatch):
    monkeypatch.setenv("MANNER", "wrong")
    done = serve(model, "--run", "--vllm", vllm, "--port", port)
    assert "does not ask base as it was trained" in str(done.exception)
    assert not lives(vllm)
    assert not is_healthy("127.0.0.1", port)


def test_the_end_of_a_server_is_ours(vllm, model, port, monkeypatch):
    monkeypatch.setenv("MANNER", "ends")
    done = serve(model, "--run", "--vllm", vllm, "--port", port)
    assert done.exit_code == 7, done.output
    assert not lives(vllm)


def test_a_server_that_dies_at_once(vllm, model, port, monkeypatch):
    monkeypatch.setenv("MANNER", "dies")
    done = serve(model, "--run", "--vllm", vllm, "--port", port)
    assert isinstance(done.exception, ServiceError)
    assert "ended before it was up (exit code 3)" in str(done.exception)
    assert not lives(vllm)


def test_a_server_that_is_never_up(vllm, model, port, monkeypatch):
    monkeypatch.setenv("MANNER", "slow")
    done = serve(model, "--run", "--vllm", vllm, "--port", port, "--wait", 1)
    assert isinstance(done.exception, ServiceError)
    assert "not up after 1 s; give it longer with --wait" in str(done.exception)
    assert not lives(vllm)


def test_who_does_not_listen_is_killed_and_ignored_signals_stay_so(vllm, port, monkeypatch):
    monkeypatch.setenv("MANNER", "stubborn")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    words = [str(vllm), "--lora-modules", "a=b", "--max-model-len", "--port", str(port)]
    times = ServingTimes(start=120.0, end=0.5, look=0.05)
    try:
        with (
            ended_by(signal.SIGTERM, signal.SIGHUP),
            running(words, {}, place=("127.0.0.1", port), times=times) as process,
        ):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert callable(signal.getsignal(signal.SIGTERM))
            began = time.monotonic()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert time.monotonic() - began >= 0.5
    assert process.returncode == -signal.SIGKILL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert not lives(vllm)


def test_a_signal_to_us_ends_the_server_first(vllm, port):
    words = [str(vllm), "--lora-modules", "a=b", "--max-model-len", "--port", str(port)]
    with (
        pytest.raises(SystemExit) as left,
        ended_by(signal.SIGTERM),
        running(words, {}, place=("127.0.0.1", port), times=ServingTimes(start=120.0, look=0.05)),
    ):
        signal.raise_signal(signal.SIGTERM)
    assert left.value.code == 128 + signal.SIGTERM
    assert not lives(vllm)


def test_a_port_that_is_taken_and_a_command_that_is_not_there(model, port):
    with server(lambda path, body: (200, b"")) as (url, asked):
        done = serve(model, "--run", "--vllm", "nowhere/vllm", "--port", url.rpartition(":")[2])
    assert "another server answers at port" in str(done.exception)
    assert [path for path, _, _ in asked] == ["/health"]
    done = serve(model, "--run", "--vllm", "nowhere/vllm", "--port", port)
    assert "nowhere/vllm cannot be started (No such file or directory)" in str(done.exception)
    assert "name its command with --vllm" in str(done.exception)
