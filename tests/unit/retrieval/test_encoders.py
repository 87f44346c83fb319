"""Encoders behind servers, and how encoders are named; real weights are in tests/real."""

import asyncio
import json

import numpy as np
import orjson
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from novarag import CallError, DataError, Outcome, Patience, UsageError
from novarag.flows.encoders import open_encoder
from novarag.retrieval.local_encoder import find_folder, hash_folder, load_encoder
from novarag.retrieval.remote_encoder import _read, _tei_rows, connect_encoder, is_address

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
QUICK = Patience(concurrency=4, timeout=60.0, attempts=3, backoff=0.01)


def vector(text, dim=4):
    """Give each text a vector of its own, so that a mixed-up order shows."""
    return [float(len(text)), *(float(ord(c)) for c in (text + "   ")[: dim - 1])]


class Server:
    """An embedding server that can be told to misbehave."""

    def __init__(self, *, change=None, statuses=(), unit=False):
        self.change, self.statuses, self.unit = change, list(statuses), unit
        self.requests, self.keys = [], []

    async def answer(self, request):
        self.keys.append(request.headers.get("Authorization"))
        body = await request.json()
        self.requests.append(body)
        if self.statuses:
            status = self.statuses.pop(0)
            if status != 200:
                return web.json_response(
                    {"error": f"key {request.headers.get('Authorization')}"},
                    status=status, headers={"Retry-After": "0.01"},
                )  # fmt: skip
        texts = body.get("input") or body["inputs"]
        rows = [vector(text) for text in texts]
        if self.unit:
            rows = [[float(x / np.linalg.norm(row)) for x in row] for row in rows]
        if "inputs" in body:
            content = rows
        else:
            data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
            content = {"data": data[::-1]}
        return web.Response(body=orjson.dumps(self.change(content) if self.change else content))

    async def models(self, request):
        return web.json_response({"data": [{"id": "m", "max_model_len": 512}]})

    async def info(self, request):
        kind = {"embedding": {"pooling": "mean"}}
        return web.json_response({"model_sha": "abc", "max_input_length": 256, "model_type": kind})


def with_server(work, server=None, *, kind="", model="m", key_env=None):
    """Run `work(encoder)` against a server on loopback."""
    server = server or Server()

    async def run():
        app = web.Application()
        app.router.add_post("/v1/embeddings", server.answer)
        app.router.add_get("/v1/models", server.models)
        app.router.add_post("/embed", server.answer)
        app.router.add_get("/info", server.info)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        try:
            spec = f"{kind}http://127.0.0.1:{port}={model}"
            encoder = await connect_encoder(spec, key_env=key_env, patience=QUICK)
            return await work(encoder)
        finally:
            await runner.cleanup()

    return asyncio.run(run())


TEXTS = [f"{'x' * (i % 7)} text {i}" for i in range(150)]


@pytest.mark.parametrize("kind", ["", "tei+", "tei-raw+"])
def test_batches_come_back_in_the_order_they_were_given(kind):
    server = Server()

    async def work(encoder):
        return await encoder.encode(TEXTS), await encoder.encode([])

    found, none = with_server(work, server, kind=kind)
    assert found.dtype == np.float32
    assert found.tolist() == [vector(text) for text in TEXTS]
    assert none.shape == (0, 4)
    sizes = sorted(len(r.get("input") or r["inputs"]) for r in server.requests[1:])
    assert sizes == ([22, 64, 64] if kind == "" else [22, 32, 32, 32, 32])
    if kind:
        assert {r["normalize"] for r in server.requests} == {kind == "tei+"}
        assert all(r["truncate"] for r in server.requests)


def test_only_a_server_that_says_what_it_takes_is_told_to_cut():
    async def work(encoder):
        await encoder.encode(["one"])

    for model, longest in (("m", 512), ("other", None)):
        server = Server()
        with_server(work, server, model=model)
        assert [r.get("truncate_prompt_tokens") for r in server.requests] == [longest, longest]


def test_identities_say_what_the_server_said():
    async def work(encoder):
        return encoder.identity

    chat = with_server(work)
    assert (chat.name, chat.revision, chat.dim) == ("m", "unknown", 4)
    assert (chat.max_tokens, chat.pooling, chat.normalised) == (512, "unknown", False)
    assert with_server(work, model="other").max_tokens is None
    tei = with_server(work, Server(unit=True), kind="tei+")
    assert (tei.revision, tei.max_tokens, tei.pooling, tei.normalised) == ("abc", 256, "mean", True)


@pytest.mark.parametrize("said", [b"[]", b"<html>", b'{"data": [1], "model_type": 3}'])
def test_a_server_may_say_nothing_of_its_model(said):
    class Quiet(Server):
        async def models(self, request):
            return web.Response(body=said)

        info = models

    async def work(encoder):
        return encoder.identity.max_tokens, encoder.identity.revision

    assert (
        with_server(work, Quiet()) == with_server(work, Quiet(), kind="tei+") == (None, "unknown")
    )


def test_a_busy_server_is_asked_again():
    server = Server(statuses=[200, 429, 503, 200])

    async def work(encoder):
        return await encoder.encode(["one"])

    assert with_server(work, server).tolist() == [vector("one")]
    assert len(server.requests) == 4


def test_a_refusal_ends_it_and_the_key_is_not_told(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-canary-0123456789")
    server = Server(statuses=[200, 400, 400, 400])

    async def work(encoder):
        with pytest.raises(CallError) as caught:
            await encoder.encode(TEXTS)
        return caught.value

    error = with_server(work, server, key_env="MY_KEY")
    assert error.outcome is Outcome.REFUSED
    assert "sk-canary" not in str(error)
    assert set(server.keys) == {"Bearer sk-canary-0123456789"}


def test_a_wrong_address_shows_at_once():
    with pytest.raises(CallError, match=r"cannot connect to http://127\.0\.0\.1:9/v1/models"):
        asyncio.run(connect_encoder("http://127.0.0.1:9=m"))

    async def work(encoder):
        raise AssertionError

    with pytest.raises(CallError, match=r"HTTP 404.*/embeddings: does it serve an encoder"):
        with_server(work, Server(statuses=[404]))


def drop_last(content):
    return {"data": content["data"][1:]} if len(content["data"]) == 3 else content


def repeat_place(content):
    return {"data": [dict(row, index=0) for row in content["data"]]}


def turn(key):
    def change(content):
        rows = content["data"]
        if len(rows) == 3:
            rows[0]["embedding"] = {"short": [1.0], "text": ["a"] * 4, "nothing": [None] * 4}[key]
        return content

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop_last, "asked for 3 vectors, got 2"),
        (repeat_place, "no list of vectors"),
        (turn("short"), "no list of vectors"),
        (turn("text"), "rows of numbers"),
        (turn("nothing"), "rows of numbers"),
        (lambda _: {"error": 1}, "no list of vectors"),
        (lambda _: [1, 2, 3], "no list of vectors"),
    ],
)
def test_what_is_not_as_promised_is_not_believed(change, said):
    async def work(encoder):
        await encoder.encode(["one", "two", "three"])

    with pytest.raises(CallError, match=said):
        with_server(work, Server(change=change))


def test_vectors_do_not_change_their_length():
    def change(content):
        if len(content["data"]) == 3:
            return {"data": [dict(row, embedding=[1.0, 2.0]) for row in content["data"]]}
        return content

    async def work(encoder):
        await encoder.encode(["one", "two", "three"])

    with pytest.raises(CallError, match="had 4 numbers before, and have 2 now"):
        with_server(work, Server(change=change))


@pytest.mark.parametrize("number", ["1e39", "NaN", "1e999", '"1"', "null", "[1]"])
def test_numbers_that_no_vector_may_hold(number):
    with pytest.raises(CallError):
        _read(f"[[1.0, {number}]]".encode(), rows=_tei_rows, count=1, dim=None)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
        lambda c: st.lists(c, max_size=3) | st.dictionaries(st.text(max_size=3), c, max_size=3),
        max_leaves=8,
    ),
    st.integers(1, 3),
)
def test_no_reply_is_more_than_an_error(content, count):
    body = json.dumps(content).encode()
    try:
        found = _read(body, rows=_tei_rows, count=count, dim=None)
    except CallError:
        return
    assert found.shape[0] == count
    assert np.isfinite(found).all()


def test_servers_are_told_from_folders():
    assert is_address("http://localhost:8000=m")
    assert is_address("tei+https://x=m")
    assert not is_address("facebook/contriever")
    assert not is_address("/models/a=http://b")
    with pytest.raises(UsageError, match=r"known are tei\+"):
        asyncio.run(connect_encoder("ftp+http://x=m"))
    with pytest.raises(UsageError, match="URL=NAME"):
        asyncio.run(connect_encoder("http://x"))


def test_an_address_is_opened_in_the_callers_loop():
    async def work(encoder):
        address = str(next(iter(encoder._sender._places.values())))
        spec = address.removesuffix("/embeddings") + "=m"
        return (await open_encoder(spec)).identity == encoder.identity

    assert with_server(work)


def test_folders_are_found_or_their_absence_is_said(tmp_path):
    assert find_folder(str(tmp_path)) == tmp_path
    assert find_folder("facebook/contriever") is None
    for spec in ("/no/such", "./no", "~/no-such-folder", "a/b/c"):
        with pytest.raises(UsageError, match="not a folder"):
            find_folder(spec)
    found = find_folder("package:novarag/strategies")
    assert (found / "prompts").is_dir()
    for spec in ("package:novarag/..", "package:no_such_thing/x", "package:a.b/x", "package:novarag/none"):  # fmt: skip
        with pytest.raises(UsageError, match="package:NAME/FOLDER"):
            find_folder(spec)


def model_folder(folder):
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text(
        '[{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Normalize"}]'
    )
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "1_Pooling" / "config.json").write_text('{"mean": true}')
    (folder / "README.md").write_text("a model")
    return folder


def test_a_folder_is_known_by_what_decides_its_vectors(tmp_path):
    one, two = model_folder(tmp_path / "a"), model_folder(tmp_path / "b")
    (two / "README.md").write_text("the same model")
    (two / "onnx").mkdir()
    (two / "onnx" / "config.json").write_text("other")
    first = hash_folder(one)
    assert first == hash_folder(two)
    (two / "1_Pooling" / "config.json").write_text('{"mean": false}')
    assert hash_folder(two) != first
    (one / "modules.json").unlink()
    assert hash_folder(one) != first


def test_pickled_weights_are_refused(tmp_path):
    pytest.importorskip("sentence_transformers")
    folder = model_folder(tmp_path / "a")
    (folder / "1_Pooling" / "pytorch_model.bin").write_bytes(b"boo")
    with pytest.raises(DataError, match="pickled"):
        load_encoder(str(folder))
    (folder / "modules.json").write_text("{")
    with pytest.raises(DataError, match="no list of modules"):
        load_encoder(str(folder))


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r"\.\[encoder\]"):
        asyncio.run(open_encoder("facebook/contriever"))
