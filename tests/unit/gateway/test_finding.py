"""Requests without passages: the gateway searches for them itself."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from novarag import build_index
from tests.support.gateways import PASSAGES, QUESTION, Upstream, fronted, post

pytestmark = pytest.mark.enable_socket
PLAIN = {"model": "support", "messages": [{"role": "user", "content": QUESTION}]}


@asynccontextmanager
async def searched(reply, status=200):
    seen = []

    async def search(request):
        seen.append(await request.json())
        return web.json_response(reply, status=status)

    app = web.Application()
    app.router.add_post("/search", search)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    try:
        yield f'[searches.wiki]\nurl = "http://127.0.0.1:{port}/search"\nk = 2\n', seen
    finally:
        await runner.cleanup()


def asked(tmp_path, reply, status=200, **more):
    async def story():
        upstream = Upstream()
        async with (
            searched(reply, status) as (tail, seen),
            fronted(tmp_path, upstream, model='search = "wiki"', tail=tail) as client,
        ):
            return upstream, seen, await post(client, PLAIN | more)

    return asyncio.run(story())


def test_passages_come_from_a_search(tmp_path):
    results = {"results": [[{"text": p, "id": f"p{i}"} for i, p in enumerate(PASSAGES)]]}
    upstream, seen, (status, _, found) = asked(tmp_path, results)
    assert status == 200
    assert seen == [{"queries": [QUESTION], "k": 2}]
    assert [p["source"] for p in found["novarag"]["passages"]] == ["p0", "p1"]
    assert PASSAGES[0] in upstream.seen[0]["messages"][-1]["content"]


def test_passages_of_the_request_come_first(tmp_path):
    _, seen, (status, _, _) = asked(tmp_path, {}, novarag={"passages": PASSAGES})
    assert (status, seen) == (200, [])


@pytest.mark.parametrize(("reply", "status", "told"), [({}, 200, 502), ({"results": [[]]}, 200, 422), ({}, 404, 502)])  # fmt: skip
def test_a_search_that_fails_is_told(tmp_path, reply, status, told):
    upstream, _, (got, headers, _) = asked(tmp_path, reply, status)
    assert got == told
    assert "x-novarag-confidence" not in headers
    assert not upstream.seen


def test_passages_come_from_an_index(tmp_path):
    corpus = tmp_path / "texts.jsonl"
    corpus.write_text("".join(f'{{"id": "{i}", "text": "{p}"}}\n' for i, p in enumerate(PASSAGES)))
    build_index([corpus], uri=str(tmp_path / "index.db"))

    async def story():
        tail = f'[searches.wiki]\nindex = "{tmp_path / "index.db"}"\nk = 2\n'
        async with fronted(tmp_path, Upstream(), model='search = "wiki"', tail=tail) as client:
            return await post(client, PLAIN)

    status, _, found = asyncio.run(story())
    assert status == 200, found
    assert found["novarag"]["passages"][0]["source"].startswith("0")
