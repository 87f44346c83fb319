"""Serving from Python: a plan, a server that is started, and one that runs."""

import asyncio
import json
import socket
import sys
import threading

import pytest

import novarag
from novarag.errors import UsageError
from novarag.serving.server import is_healthy
from tests.support.served_folder import make_base, make_model

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

STAND_IN = """#!{python}
import json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Answer(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {"tokens": json.loads(os.environ["TOKENS"]), "data": [{"id": "base"}, {"id": "one"}]}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
port = int(sys.argv[sys.argv.index("--port") + 1])
ThreadingHTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""


@pytest.fixture
def model(tmp_path):
    return make_model(tmp_path / "one", make_base(tmp_path / "tiny"), merged=True)


@pytest.fixture
def vllm(tmp_path, model, monkeypatch):
    told = json.loads((model / "training.json").read_text("utf-8"))
    monkeypatch.setenv("TOKENS", json.dumps(told["sample"]["tokens"]))
    path = tmp_path / "vllm"
    path.write_text(STAND_IN.replace("{python}", sys.executable), "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_plan_says_how_to_serve(model):
    plan = novarag.serving_plan(model, port=8411, extra=["--seed", "3"])
    assert plan.command.names == ("base", "one")
    assert (plan.host, plan.port, plan.notes) == ("127.0.0.1", 8411, ())
    assert plan.command.words[-2:] == ["--seed", "3"]
    lines = repr(plan).splitlines()
    assert lines[0] == "ServingPlan: base, one at 127.0.0.1, port 8411"
    assert "\n".join(lines[1:]) == plan.command.typed()
    (note,) = novarag.serving_plan([f"nova={model}"], cpu=True).notes
    assert "serve those with `merged=True`" in note
    assert novarag.serving_plan(str(model), cpu=True, merged=True, compiled=True).notes == ()


def test_a_server_is_started_checked_and_ended(model, vllm, port):
    plan = novarag.serving_plan([model], vllm=vllm, port=port)
    with novarag.start_serving(plan, wait=120) as server:
        assert server.url == f"http://127.0.0.1:{port}"
        found = novarag.check_serving(plan, server.url)
        assert (found.names, found.tokens) == (("base", "one"), 9)

        async def notebook():
            return novarag.check_serving(plan, server.url), await novarag.check_serving_async(
                plan, server.url
            )

        assert asyncio.run(notebook()) == (found, found)
    assert server.process.poll() is not None
    assert not is_healthy("127.0.0.1", port)


def test_a_server_can_be_started_in_a_thread(model, vllm, port):
    plan, found = novarag.serving_plan([model], vllm=vllm, port=port), []

    def work():
        with novarag.start_serving(plan, wait=120) as server:
            found.append(novarag.check_serving(plan, server.url).tokens)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [9]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"compiled": True}, "`compiled` goes with `cpu` and `merged`"),
        ({"merged": True, "base": "x"}, "leave out `base`"),
        ({"extra": ["--port=3"]}, "give `port` by itself"),
    ],
)
def test_what_does_not_go_together(model, given, said):
    with pytest.raises(UsageError, match=said):
        novarag.serving_plan(model, **given)


def test_models_are_folders(model):
    with pytest.raises(UsageError, match="serve one model with `merged=True`"):
        novarag.serving_plan([model, model], merged=True)
    with pytest.raises(UsageError, match="nothing to serve"):
        novarag.serving_plan([])
    with pytest.raises(TypeError, match="models must be folders, or 'NAME=FOLDER', not int"):
        novarag.serving_plan([3])
