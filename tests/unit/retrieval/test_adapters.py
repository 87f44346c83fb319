"""The user's own search: functions, servers, and objects named on the command line."""

import asyncio
import threading
from types import SimpleNamespace

import orjson
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from novarag import CallError, DataError, Passage, Patience, Provenance, UsageError
from novarag.flows.encoders import open_search
from novarag.retrieval import HttpRetriever, from_callable, from_langchain, from_llamaindex
from novarag.retrieval.adapters import as_passage

QUICK = Patience(concurrency=4, timeout=60.0, attempts=3, backoff=0.01)
ROWS = [{"text": f"body {i}", "title": f"Title {i}", "id": i} for i in range(9)]


def search(retriever, queries=("a", "b"), k=3):
    return asyncio.run(retriever.search(list(queries), k=k))


def one(query, k):
    return [f"{query} {i}" for i in range(k + 2)]


async def one_async(query, k):
    return one(query, k)


def many(queries, k):
    return [one(query, k) for query in queries]


class Caller:
    async def __call__(self, query, k):
        return one(query, k)


@pytest.mark.parametrize(
    ("work", "batch"),
    [
        (one, False),
        (one_async, False),
        (Caller(), False),
        (lambda query, k: one_async(query, k), False),
        (many, True),
    ],
)
def test_functions_of_every_sort_find_at_most_k(work, batch):
    found = search(from_callable(work, batch=batch))
    assert [[p.text for p in passages] for passages in found] == [
        ["a 0", "a 1", "a 2"],
        ["b 0", "b 1", "b 2"],
    ]
    assert {p.provenance for passages in found for p in passages} == {Provenance.RETRIEVED}


def test_plain_functions_run_beside_the_loop_and_not_too_many_at_once():
    running, most, lock = 0, 0, threading.Lock()

    def slow(query, k):
        nonlocal running, most
        assert threading.current_thread() is not threading.main_thread()
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.02)
        with lock:
            running -= 1
        return [query]

    search(from_callable(slow, concurrency=3), queries="abcdefghij")
    assert most == 3
    with pytest.raises(UsageError, match="at least one"):
        from_callable(slow, concurrency=0)


def test_a_failure_of_the_function_is_shown_as_it_is():
    async def fails(query, k):
        if query == "b":
            raise RuntimeError("the database is away")
        await asyncio.sleep(60)

    with pytest.raises(RuntimeError, match="database is away"):
        search(from_callable(fails))


@pytest.mark.parametrize(
    ("found", "text", "source"),
    [
        ("plain", "plain", None),
        ({"text": "body"}, "body", None),
        ({"text": "body", "title": "Head", "id": 3}, "Head\nbody", "3"),
        ({"text": "Head\nbody", "title": " Head "}, "Head\nbody", None),
        ({"text": "body", "title": None, "source": "a.txt"}, "body", "a.txt"),
        ({"text": "body", "title": " "}, "body", None),
        ({"text": "half \ud83d", "title": "\udc00"}, "?\nhalf ?", None),
        (Passage(text="body", source="s"), "body", "s"),
    ],
)
def test_passages_come_in_several_shapes(found, text, source):
    passage = as_passage(found)
    assert (passage.text, passage.source, passage.kind) == (text, source, None)
    assert passage.provenance is Provenance.RETRIEVED


def test_a_passage_keeps_what_is_known_of_it():
    known = Passage(text="body", provenance=Provenance.GENERATED)
    assert as_passage(known) is known


@pytest.mark.parametrize("found", [None, 3, {}, {"text": 3}, "", {"text": " \n"}, ["text"]])
def test_what_has_no_text_is_no_passage(found):
    with pytest.raises(DataError, match="has no text"):
        as_passage(found)


@pytest.mark.parametrize(
    ("given_", "batch", "said"),
    [
        ("a text", False, "a str where a list of passages"),
        (None, False, "a NoneType where a list"),
        ([["a"]], True, "1 lists for 2 queries"),
        (["a", "b"], True, "a str where a list of passages"),
    ],
)
def test_what_is_no_list_is_not_taken_apart(given_, batch, said):
    with pytest.raises(DataError, match=said):
        search(from_callable(lambda *_: given_, batch=batch))


def with_server(answer, work):
    async def run():
        app = web.Application()
        app.router.add_post("/find", answer)
        app.router.add_post("/find/", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            return await work(f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/find")
        finally:
            await runner.cleanup()

    return asyncio.run(run())


@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.parametrize("slash", ["", "/"])
def test_a_search_server_is_asked_in_batches(slash, monkeypatch):
    seen = []
    monkeypatch.setenv("NOVARAG_API_KEY", "the key of a model is not for a search server")

    async def answer(request):
        body = await request.json()
        seen.append((request.path, request.headers.get("Authorization"), len(body["queries"])))
        if len(seen) == 1:
            return web.Response(status=503)
        rows = [[dict(row, text=f"{q} {row['id']}") for row in ROWS] for q in body["queries"]]
        return web.json_response({"results": rows})

    async def work(url):
        own = HttpRetriever(url + slash, batch=2, patience=QUICK)
        return await own.search(["a", "b", "c"], k=2)

    found = with_server(answer, work)
    assert [[p.text for p in ps] for ps in found] == [
        [f"Title {i}\n{q} {i}" for i in range(2)] for q in "abc"
    ]
    assert found[0][1].source == "1"
    assert sorted(size for _, _, size in seen) in ([1, 1, 2], [1, 2, 2])
    assert {(path, key) for path, key, _ in seen} == {("/find" + slash, None)}


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_another_wire_format_is_a_pair_of_functions(monkeypatch):
    monkeypatch.setenv("SEARCH_KEY", "sk-search")

    async def answer(request):
        assert request.headers["Authorization"] == "Bearer sk-search"
        body = await request.json()
        hits = [{"_source": {"body": f"{body['q']} {i}"}, "_id": i} for i in range(body["size"])]
        return web.json_response({"hits": {"hits": hits}})

    def read(content):
        return [[{"text": h["_source"]["body"], "id": h["_id"]} for h in content["hits"]["hits"]]]

    async def work(url):
        own = HttpRetriever(
            url, key_env="SEARCH_KEY", batch=1, read=read, patience=QUICK,
            write=lambda queries, k: {"q": queries[0], "size": k},
        )  # fmt: skip
        return await own.search(["a", "b"], k=2)

    found = with_server(answer, work)
    assert [[p.text for p in ps] for ps in found] == [["a 0", "a 1"], ["b 0", "b 1"]]


@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html>", "one list for each query"),
        (b"{}", "one list for each query"),
        (b'{"results": 3}', "a int where a list"),
        (b'{"results": [[]]}', "1 lists for 2 queries"),
        (b'{"results": [[{"title": "x"}], []]}', "has no text"),
        (b"[]", "one list for each query"),
    ],
)
def test_a_reply_that_is_none_is_said(content, said):
    async def answer(request):
        return web.Response(body=content)

    async def work(url):
        return await HttpRetriever(url, patience=QUICK).search(["a", "b"], k=1)

    with pytest.raises(CallError, match=said):
        with_server(answer, work)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
        lambda c: (
            st.lists(c, max_size=3) | st.dictionaries(st.sampled_from(["text", "id", "results"]), c)
        ),
        max_leaves=8,
    )
)
def test_no_reply_is_more_than_an_error(content):
    retriever = HttpRetriever("http://localhost/x")
    try:
        found = retriever._understand(orjson.dumps(content), queries=["a", "b"], k=2)
    except CallError:
        return
    assert len(found) == 2


def test_what_cannot_work_is_said_before_anything_is_sent():
    with pytest.raises(UsageError, match="at least one query"):
        HttpRetriever("http://x", batch=0)
    with pytest.raises(UsageError, match="not an address"):
        HttpRetriever("x")
    with pytest.raises(UsageError, match="MISSING_KEY is not set"):
        HttpRetriever("http://x", key_env="MISSING_KEY")
    with pytest.raises(UsageError, match=r"dict is not a LangChain retriever.*as_retriever"):
        from_langchain({})
    with pytest.raises(UsageError, match="is not a LlamaIndex retriever"):
        from_llamaindex(Caller)


class Chain:
    """As much of a LangChain retriever as is documented; the real ones are in tests/real."""

    def __init__(self, **told):
        self.__dict__ |= told
        self.asked = []

    async def ainvoke(self, input, **kwargs):  # noqa: A002 - theirs
        self.asked.append(kwargs)
        metadata = {"title": "Head", "source": "file.txt"}
        return [
            SimpleNamespace(page_content=input, metadata=metadata, id="7"),
            SimpleNamespace(page_content=input, metadata=metadata, id=None),
            SimpleNamespace(page_content=input, metadata=None),
        ]


def test_documents_of_langchain():
    plain, store = Chain(), Chain(search_kwargs={"k": 1})
    found = search(from_langchain(plain), queries=["q"])
    assert [(p.text, p.source) for p in found[0]] == [
        ("Head\nq", "7"),
        ("Head\nq", "file.txt"),
        ("q", None),
    ]
    search(from_langchain(store), queries=["q"])
    assert (plain.asked, store.asked) == ([{}], [{"k": 3}])


class Llama:
    """As much of a LlamaIndex retriever as is documented."""

    similarity_top_k = 2

    async def aretrieve(self, query):
        node = SimpleNamespace(get_content=lambda: query, metadata={"title": "Head"}, node_id="n1")
        return [SimpleNamespace(node=node, score=1.0)]


def test_nodes_of_llamaindex():
    found = search(from_llamaindex(Llama()), queries=["q"], k=2)
    assert [(p.text, p.source) for p in found[0]] == [("Head\nq", "n1")]
    with pytest.raises(UsageError, match="similarity_top_k=3"):
        search(from_llamaindex(Llama()), queries=["q"], k=3)


MINE = """
def find(query, k):
    return [query] * k

class Own:
    async def search(self, queries, *, k):
        return [[] for _ in queries]

class Llama:
    async def aretrieve(self, query):
        return []

class Chain:
    async def ainvoke(self, input):
        return []

own, llama, chain, number = Own(), Llama(), Chain(), 3
"""


def test_objects_are_found_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_search.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    assert search(open_search("my_search:find"), queries="q", k=2)[0][1].text == "q"
    for name in ("own", "llama", "chain"):
        assert list(map(list, search(open_search(f"my_search:{name}")))) == [[], []]
    assert isinstance(open_search(http="http://localhost:9/x"), HttpRetriever)
    for name, said in [
        ("my_search:Own", "is a class"),
        ("my_search:number", "cannot search: it is a int"),
        ("my_search:none", "cannot be imported"),
        ("my_search", "write package.module:OBJECT"),
    ]:
        with pytest.raises(UsageError, match=said):
            open_search(name)
    for told in ({}, {"search": "my_search:find", "http": "http://x"}):
        with pytest.raises(UsageError, match="one of them"):
            open_search(**told)
