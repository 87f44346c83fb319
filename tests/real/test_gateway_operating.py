"""Keys in a real PostgreSQL, and metrics before the real promtool."""

import asyncio
import os
import shutil
import subprocess

import asyncpg
import pytest

from novarag import (
    StorageError,
    UsageError,
    add_gateway_key,
    list_gateway_keys,
    revoke_gateway_key,
)
from novarag.gateway.http.server import reload_settings
from tests.support.audited import VARIABLE
from tests.support.gateways import Upstream, ask, fronted, post, settings
from tests.support.postgres import program, server
from tests.support.waiting import until

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL is not installed"),
]
PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")
AUDIT = '[audit]\nspool = "spool"\n[access]\nrequired = true\nreread = 3600\n'


@pytest.fixture(scope="module")
def postgres():
    with server() as made:
        yield made


@pytest.fixture
def file(tmp_path, postgres, monkeypatch):
    """A settings file whose database has no keys."""
    monkeypatch.setenv(VARIABLE, postgres.dsn)

    async def clear():
        connection = await asyncpg.connect(postgres.dsn)
        await connection.execute("drop schema public cascade; create schema public")
        await connection.close()

    asyncio.run(clear())
    path = tmp_path / "gateway.toml"
    path.write_text(settings("http://127.0.0.1:1/v1") + AUDIT)
    return path


async def status(client, key):
    headers = {"Authorization": f"Bearer {key}"}
    async with client.post("/v1/chat/completions", json=ask(), headers=headers) as reply:
        return reply.status


def test_keys_are_drawn_listed_and_revoked_and_only_hashes_are_kept(file, postgres):
    first = add_gateway_key("acme", file, expires="2099-01-31", note="it's; drop table keys; --")
    second = add_gateway_key("acme", file, scopes=["metrics"])
    listed = list_gateway_keys(file)
    assert [key.sha256 for key in listed] == [first.known_by.sha256, second.known_by.sha256]
    assert listed[0].note == "it's; drop table keys; --"
    assert (listed[1].scopes, listed[1].expires) == (("metrics",), None)

    async def kept():
        connection = await asyncpg.connect(postgres.dsn)
        rows = await connection.fetch("select * from keys")
        await connection.close()
        return repr([dict(row) for row in rows])

    assert first.key not in asyncio.run(kept())
    for start in ("", "%", "________", "0" * 8, first.key):
        with pytest.raises(UsageError):
            revoke_gateway_key(start, file)
    gone = revoke_gateway_key(first.known_by.sha256[:12].upper(), file)
    assert gone.sha256 == first.known_by.sha256
    assert [key.sha256 for key in list_gateway_keys(file)] == [second.known_by.sha256]


def test_a_running_gateway_learns_of_keys_and_outlives_its_database(file, tmp_path, postgres):
    first = add_gateway_key("acme", file)

    async def story():
        async with fronted(tmp_path, Upstream(), tail=AUDIT) as client:
            stored = client.gateway.stored_keys
            assert await status(client, first.key) == 200
            second = await asyncio.to_thread(add_gateway_key, "acme", file)
            assert await status(client, second.key) == 401
            before = stored.read_at
            assert await reload_settings(client.gateway)
            await until(lambda: stored.read_at != before)
            assert await status(client, second.key) == 200
            await asyncio.to_thread(revoke_gateway_key, first.known_by.sha256, file)
            before = stored.read_at
            stored.read_soon()
            await until(lambda: stored.read_at != before)
            assert await status(client, first.key) == 401
            await asyncio.to_thread(postgres.stop)
            stored.read_soon()
            await asyncio.sleep(0.2)
            assert await status(client, second.key) == 200
            assert (await client.get("/readyz")).status == 200
            with pytest.raises(StorageError, match="did not do it") as error:
                await asyncio.to_thread(list_gateway_keys, file)
            assert "127.0.0.1" not in str(error.value)
            await asyncio.to_thread(postgres.start)

    asyncio.run(story())


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is neither on the path nor in PROMTOOL")
def test_promtool_finds_nothing_wrong_with_the_metrics(file, tmp_path):
    made = add_gateway_key("acme", file, scopes=["chat", "metrics"])

    async def story():
        async with fronted(tmp_path, Upstream(), tail=AUDIT) as client:
            client.headers["Authorization"] = f"Bearer {made.key}"
            await post(client, ask())
            await post(client, ask(model="none"))
            async with client.get("/metrics") as reply:
                return await reply.read()

    text = asyncio.run(story())
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")
