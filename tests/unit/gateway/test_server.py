"""Starting and ending: where a socket listens, what a start that fails says, what is logged."""

import asyncio
import io
import signal
import socket

import orjson
import pytest
from typer.testing import CliRunner

from novarag import UsageError, serve_gateway
from novarag.cli import app
from novarag.gateway.http import server
from novarag.gateway.observe.logs import json_logs
from tests.support.gateways import settings
from tests.support.waiting import until
from tests.unit.gateway.test_keys import part

pytestmark = pytest.mark.enable_socket


def test_an_open_socket_says_where_it_listens(tmp_path):
    for host in ("127.0.0.1", "0.0.0.0"):
        with socket.socket() as opened:
            opened.bind((host, 0))
            assert server._find_host(opened.fileno()) == host
            assert opened.getsockname()[0] == host  # it is still open
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(tmp_path / "s"))
        assert server._find_host(opened.fileno()) == "unix"


def test_a_socket_that_others_can_reach_needs_keys(tmp_path):
    path = tmp_path / "gateway.toml"
    path.write_text(settings("http://127.0.0.1:1/v1"))
    with socket.socket() as opened:
        opened.bind(("0.0.0.0", 0))
        with pytest.raises(UsageError, match="needs keys"):
            asyncio.run(server.run_server(path, fd=opened.fileno()))


def test_a_start_that_fails_is_no_success(tmp_path):
    path = tmp_path / "gateway.toml"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        path.write_text(settings("http://127.0.0.1:1/v1").replace("port = 0", f"port = {port}"))
        with pytest.raises(UsageError, match="did not start"):
            serve_gateway(path)


def test_a_gateway_that_is_told_to_end_does_and_says_so(tmp_path, monkeypatch):
    (tmp_path / "gateway.toml").write_text(settings("http://127.0.0.1:1/v1"))
    made, make = [], server.make_server
    monkeypatch.setattr(
        server, "make_server", lambda *a, **k: made.append(make(*a, **k)) or made[0]
    )
    before, out = signal.getsignal(signal.SIGTERM), io.StringIO()

    async def whole():
        serving = asyncio.create_task(server.run_server(tmp_path / "gateway.toml"))
        await until(lambda: made and made[0].started)
        made[0].handle_exit(signal.SIGTERM, None)  # it will send itself the signal again
        await serving

    with json_logs(out):
        asyncio.run(whole())
    assert [orjson.loads(line)["event"] for line in out.getvalue().splitlines()] == ["start", "end"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_keys_at_the_command_line(tmp_path):
    path = tmp_path / "gateway.toml"
    runner = CliRunner()
    made = runner.invoke(app, ["gateway", "key", "add", "acme", "--scope", "chat", "--hash-only"])
    key, *lines = made.stdout.splitlines()
    assert key.startswith("nvr_")
    path.write_text(settings("http://127.0.0.1:1/v1") + "\n".join(lines) + "\n" + part(name="b", expires="2020-01-01"))  # fmt: skip
    listed = runner.invoke(app, ["gateway", "key", "list", "--settings", str(path)]).stdout
    assert "acme  chat  no end  file" in listed
    assert "until 2020-01-01 00:00, over" in listed
    assert key not in listed
    refused = runner.invoke(app, ["gateway", "key", "revoke", "0" * 12, "--settings", str(path)])
    assert isinstance(refused.exception, UsageError)
