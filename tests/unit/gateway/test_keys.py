"""Keys of clients: who is let in, as whom, for what, until when; and where keys are not optional."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from novarag import UsageError, add_gateway_key, check_gateway, list_gateway_keys
from novarag.gateway.admin import client_keys as issuing
from novarag.gateway.audit import stored_keys
from novarag.gateway.audit.recorder import AuditRecorder
from novarag.gateway.audit.stored_keys import StoredKeys
from novarag.gateway.http import access
from novarag.gateway.http.access import Authenticator, NotAdmitted, is_loopback, needs_keys
from novarag.gateway.http.keys import ClientKey, KeyRing, draw_key, hash_key, read_bearer_key
from novarag.gateway.http.server import reload_settings
from novarag.gateway.settings import GatewaySettings, KeyScope, read_settings
from novarag.gateway.snapshot import Snapshot
from novarag.gateway.state import Gateway
from tests.support.gateways import REPLY, Upstream, ask, fronted, settings
from tests.support.waiting import until
from tests.unit.gateway.audit.test_recording import NOWHERE

KEY, OTHER = "nvr_right", "nvr_other"
ROUTES = {
    "/v1/chat/completions": "chat", "/v1/score": "score", "/v1/feedback": "feedback",
    "/metrics": "metrics",
}  # fmt: skip


def part(key=KEY, name="acme", **more):
    """Write an entry of [keys]."""
    lines = "".join(f"{name} = {value}\n" for name, value in more.items())
    return f'[keys.{name}]\nsha256 = ["{hash_key(key).hex()}"]\n{lines}'


def with_key(key=KEY):
    return {"Authorization": f"Bearer {key}"}


def run(tmp_path, story, *, upstream=None, tail=None, model=""):
    async def whole():
        made = upstream or Upstream()
        async with fronted(tmp_path, made, model=model, tail=part() if tail is None else tail) as client:  # fmt: skip
            return await story(client)

    return asyncio.run(whole())


async def status(client, path="/v1/chat/completions", **more):
    gets = path not in {"/v1/chat/completions", "/v1/score", "/v1/feedback"}
    async with client.request("GET" if gets else "POST", path, json=ask(), **more) as reply:
        return reply.status, reply.headers, await reply.text()


# --- the header ---


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([b"Bearer abc"], b"abc"),
        ([b"bearer  abc "], b"abc"),
        ([], None),
        ([b"abc"], None),
        ([b"Basic abc"], None),
        ([b"Bearer "], None),
        ([b"Bearer a b"], None),
        ([b"Bearer a\nb"], None),
        ([b"Bearer a\x00b"], None),
        (["Bearer clé".encode()], None),
        ([b"Bearer " + b"a" * 1_000_000], None),
        ([b"Bearer abc", b"Bearer abc"], None),
        ([b"Bearer abc", b"Basic x"], None),
    ],
)
def test_one_plain_key_in_one_header(values, found):
    assert (
        read_bearer_key([(b"x", b"y"), *((b"authorization", value) for value in values)]) == found
    )


def test_a_ring_finds_what_it_has_and_nothing_else():
    keys = [ClientKey(sha256=hash_key(f"k{i}"), tenant=f"t{i}", scopes=frozenset()) for i in range(9)]  # fmt: skip
    ring = KeyRing(keys)
    assert [ring.find(f"k{i}".encode()).tenant for i in range(9)] == [f"t{i}" for i in range(9)]
    assert ring.find(b"k9") is None
    assert ring.find(hash_key("k1")) is None  # the hash is no key
    assert len({draw_key() for _ in range(100)}) == 100


# --- where keys are needed ---


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("unix", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_only_this_machine_needs_no_keys(host, loopback):
    assert is_loopback(host) is loopback


def test_a_gateway_that_others_can_reach_does_not_start_without_keys(tmp_path, monkeypatch):
    path = tmp_path / "gateway.toml"
    near = settings("http://127.0.0.1:1/v1")
    far = near.replace("port = 0", 'port = 0\nhost = "0.0.0.0"')
    path.write_text(far)
    for start in (check_gateway, lambda p: Gateway(Snapshot(p))):
        with pytest.raises(UsageError, match=r"0\.0\.0\.0 needs keys.*required = false"):
            start(path)
    path.write_text(near)
    with pytest.raises(UsageError, match="needs keys"):
        Gateway(Snapshot(path), host="192.168.1.2")  # an open socket elsewhere
    path.write_text(near + "[access]\nrequired = true\n")
    with pytest.raises(UsageError, match="needs keys"):
        check_gateway(path)
    path.write_text(far + "[access]\nrequired = false\n")
    assert check_gateway(path).models
    assert not needs_keys(read_settings(path))
    path.write_text(far + part())
    assert needs_keys(read_settings(path))
    path.write_text(near + part())  # keys that stand there are meant
    assert needs_keys(read_settings(path))


@pytest.mark.parametrize("fault", ['sha256 = ["abc"]', "sha256 = []", f'sha256 = ["{"A" * 64}"]',
    f'sha256 = ["{"a" * 64}"]\nscopes = ["all"]', f'sha256 = ["{"a" * 64}"]\nscopes = []',
    f'sha256 = ["{"a" * 64}"]\nkey = "x"'])  # fmt: skip
def test_keys_with_a_fault_are_refused(tmp_path, fault):
    path = tmp_path / "gateway.toml"
    path.write_text(settings("http://127.0.0.1:1/v1") + f"[keys.acme]\n{fault}\n")
    with pytest.raises(Exception, match=r"keys\.acme"):
        read_settings(path)


@pytest.mark.parametrize(
    "name", ["__proto__", "'; drop table keys; --", "a\nb", "é", "", "a" * 129]
)
def test_tenants_have_plain_names(tmp_path, name):
    with pytest.raises(UsageError, match="`tenant`"):
        add_gateway_key(name, hash_only=True)
    path = tmp_path / "gateway.toml"
    quoted = name.replace("\n", "\\n")
    path.write_text(settings("http://127.0.0.1:1/v1") + part(name=f'"{quoted}"'))
    with pytest.raises(Exception, match=r"keys\."):
        read_settings(path)


# --- over the wire ---


@pytest.mark.enable_socket
def test_without_the_right_key_nothing_is_read_or_asked(tmp_path):
    upstream = Upstream()
    wrong = [{}, with_key("x"), with_key(hash_key(KEY).hex()), {"Authorization": KEY},
             with_key(KEY + "x"), with_key(KEY[:-1])]  # fmt: skip

    async def story(client):
        for path in [*ROUTES, "/v1/models"]:
            for headers in wrong:
                code, told, text = await status(client, path, headers=headers)
                assert (code, told["www-authenticate"]) == (401, "Bearer")
                assert '"type":"authentication_error"' in text
                assert KEY not in text
        assert (await status(client, "/livez"))[0] == 200
        assert (await status(client, "/readyz"))[0] == 200
        assert client.gateway.tallies.turned_away == {"key": len(wrong) * (len(ROUTES) + 1)}
        assert (await status(client, headers=with_key()))[0] == 200

    run(tmp_path, story, upstream=upstream)
    assert len(upstream.seen) == 1


@pytest.mark.enable_socket
@pytest.mark.parametrize("scope", ROUTES.values())
def test_a_key_is_for_its_scopes_alone(tmp_path, scope):
    async def story(client):
        found = {path: (await status(client, path, headers=with_key()))[0] for path in ROUTES}
        assert {path for path, code in found.items() if code != 403} == {
            path for path, of in ROUTES.items() if of == scope
        }
        assert (await status(client, "/v1/models", headers=with_key()))[0] == 200

    run(tmp_path, story, tail=part(scopes=f'["{scope}"]'))


@pytest.mark.enable_socket
def test_a_long_header_and_two_headers_are_refused_and_the_next_request_is_served(tmp_path):
    async def story(client):
        odd = (b"Authorization: Bearer " + b"a" * 1_000_000,
               b"Authorization: Bearer nvr_right\r\nAuthorization: Bearer nvr_right",
               b"Authorization: Bearer nvr_right\x00")  # fmt: skip
        for header in odd:
            reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
            writer.write(b"POST /v1/score HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n" + header + b"\r\n\r\n{}")  # fmt: skip
            line = await reader.readline()
            assert line.split()[1] in {b"400", b"401", b"431"}, line
            writer.close()
        assert (await status(client, headers=with_key()))[0] == 200

    run(tmp_path, story)


@pytest.mark.enable_socket
def test_the_tenant_is_the_keys_and_the_key_goes_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_DATABASE", NOWHERE)
    rows, record = [], AuditRecorder.record
    monkeypatch.setattr(
        AuditRecorder, "record", lambda self, row: rows.append(row) or record(self, row)
    )
    heard = []

    async def listen(_, request, __):
        heard.append((dict(request.headers), await request.read()))

    async def story(client):
        headers = with_key(OTHER)
        async with client.post("/v1/chat/completions", json=ask(), headers=headers) as reply:
            found = (await reply.json())["novarag"]["id"]
        said = {"id": found, "verdict": "right"}
        assert (await client.post("/v1/feedback", json=said, headers=headers)).status == 200

    tail = part() + part(OTHER, "beta-2026", tenant='"beta"') + '[audit]\nspool = "spool"\n'
    run(tmp_path, story, upstream=Upstream(act=listen), tail=tail)
    assert [row.tenant for row in rows] == ["beta", "beta"]
    assert OTHER not in repr(heard) + repr(rows)
    spooled = b"".join(p.read_bytes() for p in (tmp_path / "spool").rglob("*") if p.is_file())
    assert spooled
    assert OTHER.encode() not in spooled


@pytest.mark.enable_socket
def test_a_key_that_expires_within_a_stream_lets_it_end(tmp_path, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(access.time, "time", lambda: clock[0])

    async def late(upstream, request, body):
        clock[0] += 10**10
        return await upstream.streamed(request, REPLY)

    async def story(client):
        body = {"model": "support", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        async with client.post("/v1/chat/completions", json=body, headers=with_key()) as reply:
            assert (await reply.read()).endswith(b"data: [DONE]\n\n")
        assert (await status(client, headers=with_key()))[0] == 401

    run(tmp_path, story, upstream=Upstream(act=late), tail=part(expires="2030-01-01"))


@pytest.mark.enable_socket
def test_a_reload_that_takes_a_key_out_lets_its_requests_end_and_no_more_in(tmp_path):
    asked, go = asyncio.Event(), asyncio.Event()

    async def wait(*_):
        asked.set()
        await go.wait()

    async def story(client):
        path = tmp_path / "gateway.toml"
        running = asyncio.create_task(status(client, headers=with_key()))
        await asked.wait()
        path.write_text(path.read_text().replace(part(), part(OTHER)))
        assert await reload_settings(client.gateway)
        assert (await status(client, headers=with_key()))[0] == 401
        go.set()
        assert (await running)[0] == 200
        assert (await status(client, headers=with_key(OTHER)))[0] == 200
        path.write_text(path.read_text().replace(part(OTHER), "[access]\nrequired = true\n"))
        assert not await reload_settings(client.gateway)  # nobody could ask: a mistake
        assert (await status(client, headers=with_key(OTHER)))[0] == 200

    run(tmp_path, story, upstream=Upstream(act=wait))


# --- keys of a database ---


class Database:
    """A database of keys that may be away; `reads` counts how often it was asked."""

    def __init__(self, monkeypatch, keys):
        self.keys, self.away, self.reads = keys, False, 0
        monkeypatch.setattr(StoredKeys, "_read", self.read(StoredKeys._read))
        monkeypatch.setattr(stored_keys, "open_connection", self.connected)
        monkeypatch.setattr(stored_keys, "migrate", self.nothing)
        monkeypatch.setattr(stored_keys, "read_keys", self.rows)

    def read(self, real):
        async def read(stored):
            self.reads += 1
            await real(stored)

        return read

    def connected(self, _):
        if self.away:
            raise ConnectionRefusedError
        return self

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def nothing(self, *_):
        return 0

    async def rows(self, _):
        return list(self.keys)


def stored(key, tenant="acme", **more):
    return ClientKey(sha256=hash_key(key), tenant=tenant, scopes=frozenset({"chat"}), **more)


NEEDED = '[audit]\nspool = "spool"\n[access]\nrequired = true\nreread = 3600\n'


@pytest.mark.enable_socket
def test_keys_of_a_database_outlive_it_and_are_read_on_reload_not_on_requests(tmp_path, monkeypatch):  # fmt: skip
    monkeypatch.setenv("NOVARAG_DATABASE", NOWHERE)
    odd = stored("nvr_odd", "'; drop table keys; --")
    database = Database(monkeypatch, [stored(KEY), odd])

    async def story(client):
        for _ in range(5):
            assert (await status(client, headers=with_key()))[0] == 200
        assert (await status(client, headers=with_key("nvr_odd")))[0] == 401
        assert database.reads == 1
        database.away = True
        assert await reload_settings(client.gateway)
        await until(lambda: database.reads == 2)
        assert (await status(client, headers=with_key()))[0] == 200
        database.away, database.keys = False, [stored(OTHER)]
        assert await reload_settings(client.gateway)
        await until(lambda: client.gateway.stored_keys.ring.find(OTHER.encode()))
        assert (await status(client, headers=with_key()))[0] == 401
        assert (await status(client, headers=with_key(OTHER)))[0] == 200
        assert database.reads == 3

    run(tmp_path, story, tail=NEEDED)


@pytest.mark.enable_socket
def test_a_start_without_the_database_says_that_keys_are_not_known_yet(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_DATABASE", NOWHERE)
    monkeypatch.setattr(stored_keys, "_AGAIN", 0.05)
    database = Database(monkeypatch, [stored(KEY)])
    database.away = True

    async def story(client):
        code, told, _ = await status(client, headers=with_key())
        assert (code, told["retry-after"]) == (503, "2")
        assert (await status(client))[0] == 401  # without a key there is nothing to wait for
        assert (await status(client, "/readyz"))[0] == 503
        database.away = False
        await until(lambda: client.gateway.authenticator.known)
        assert (await status(client, headers=with_key()))[0] == 200
        assert (await status(client, "/readyz"))[0] == 200

    run(tmp_path, story, tail=NEEDED)


def test_an_open_gateway_takes_any_key_and_knows_its_own():
    given = {"upstreams": {"main": {"url": "http://x/v1"}},
             "models": {"a": {"upstream": "main", "name": "a"}}, "access": {"required": False},
             "keys": {"acme": {"sha256": [hash_key(KEY).hex()]}}}  # fmt: skip
    made = Authenticator(GatewaySettings.model_validate(given))
    headers = lambda key: [(b"authorization", f"Bearer {key}".encode())]  # noqa: E731
    assert (
        made.find_tenant([], KeyScope.METRICS)
        == made.find_tenant(headers("none"), KeyScope.CHAT)
        == "default"
    )
    assert made.find_tenant(headers(KEY), KeyScope.CHAT) == "acme"
    with pytest.raises(NotAdmitted):
        made.find_tenant(headers(KEY), KeyScope.METRICS)


# --- drawing keys ---


def test_a_new_key_is_let_in_by_the_lines_that_it_comes_with(tmp_path):
    end = datetime.now(UTC) + timedelta(days=1)
    made = add_gateway_key("acme", scopes=["chat", "metrics"], expires=end, hash_only=True)
    path = tmp_path / "gateway.toml"
    path.write_text(settings("http://127.0.0.1:1/v1") + "\n".join(made.settings_lines()))
    (listed,) = list_gateway_keys(path)
    assert made.key not in repr(made) + str(made) + path.read_text()
    assert (listed.tenant, listed.scopes, listed.source) == ("acme", ("chat", "metrics"), "file")
    assert abs((listed.expires - end).total_seconds()) < 1
    door = Authenticator(read_settings(path))
    assert (
        door.find_tenant([(b"authorization", f"Bearer {made.key}".encode())], KeyScope.CHAT)
        == "acme"
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [({"scopes": ["all"]}, "scopes"), ({"scopes": "chat"}, "scopes"), ({"scopes": []}, "scopes"),
     ({"expires": "soon"}, "expires"), ({"expires": "2020-01-01"}, "expires"),
     ({"hash_only": False}, "settings"), ({"settings": "x.toml"}, "settings")],
)  # fmt: skip
def test_a_key_that_could_not_be_used_is_not_drawn(monkeypatch, more, words):
    monkeypatch.setattr(issuing, "_ask_database", lambda *_: pytest.fail("stored"))
    with pytest.raises(UsageError, match=f"`{words}"):
        add_gateway_key("acme", **({"hash_only": True} | more))
