"""The real engine in a file: what goes in comes out, once, and best first."""

import asyncio
import os
import socket
import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pytest

from novarag.errors import DataError, ServiceError, StorageError, UnknownNameError, UsageError
from novarag.records import Document, Passage
from novarag.retrieval import lite
from novarag.retrieval.building import IndexProgress, fill
from novarag.retrieval.chunks import cut
from novarag.retrieval.encoding import EncoderIdentity
from novarag.retrieval.fusion import fuse
from novarag.retrieval.manifest import IndexManifest
from novarag.retrieval.milvus import MilvusIndex, create_index, open_index
from novarag.retrieval.searching import MilvusRetriever

TEXTS = {
    "paris": "Paris is the capital of France and lies on the Seine.",
    "rome": "Rome is the capital of Italy and lies on the Tiber.",
    "ink": "Ink was made of soot and gum.",
    "seine": "The Seine rises near Dijon and runs through Paris to the sea.",
    "odd\"id' or 1=1": "An id may hold anything at all.",
}


class Toy:
    """An encoder whose vectors are counts of letters: no model, but honest vectors."""

    def __init__(self, revision="1"):
        self.calls = 0
        self.identity = EncoderIdentity(
            name="letters", revision=revision, dim=26, max_tokens=None, pooling="sum",
            normalised=False,
        )  # fmt: skip

    async def encode(self, texts, *, query=False):
        self.calls += len(texts)
        counts = [[t.lower().count(chr(97 + i)) for i in range(26)] for t in texts]
        return np.array(counts, dtype=np.float32).reshape(-1, 26)


def passages(texts=TEXTS, words=100):
    return list(cut((Document(id=name, text=text) for name, text in texts.items()), words=words))


def build(uri, *, encoder=None, texts=TEXTS, **settings):
    manifest = IndexManifest(encoder=encoder and encoder.identity, **settings)
    with create_index(str(uri), manifest) as index:
        return asyncio.run(fill(index, passages(texts, manifest.words), encoder=encoder))


def find(uri, query, *, k=3, mode="bm25", encoder=None):
    with open_index(str(uri)) as index:
        retriever = MilvusRetriever(index, mode=mode, encoder=encoder)
        return [p.source for p in asyncio.run(retriever.search([query], k=k))[0]]


@cache
def find_once(uri, query, mode="bm25"):
    return find(uri, query, k=100, mode=mode, encoder=None if mode == "bm25" else Toy())


def distinct_scores(uri, query):
    with open_index(str(uri)) as index:
        (hits,) = index._client.search(index.name, [query], anns_field="sparse", limit=9)
        return len({round(hit["distance"], 4) for hit in hits})


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    uri = tmp_path_factory.mktemp("index") / "cities.db"
    build(uri, encoder=Toy())
    return uri


def test_words_are_found_by_stem_and_ids_come_back_untouched(filled):
    assert find(filled, "capitals of France")[0] == "paris"
    assert find(filled, "anything at all?") == ["odd\"id' or 1=1"]


def test_a_query_without_a_word_finds_nothing(filled):
    assert find(filled, "the of?!") == []
    assert find(filled, "") == []


def test_vectors_are_compared_exactly(filled):
    toy = Toy()
    every = asyncio.run(toy.encode(list(TEXTS.values())))
    for query in ("Seine", "quiz", "capital of Italy"):
        scores = every @ asyncio.run(toy.encode([query]))[0]
        found = find(filled, query, k=5, mode="dense", encoder=toy)
        by_hand = [scores[list(TEXTS).index(name)] for name in found]
        assert by_hand == sorted(scores, reverse=True)


def test_every_query_of_a_batch_is_fused_alike(filled):
    toy = Toy()
    asked = ["capital on the Seine", "soot", "anything", "the"] * 40
    with open_index(str(filled)) as index:
        both = asyncio.run(MilvusRetriever(index, mode="hybrid", encoder=toy).search(asked, k=5))
    for query, found in zip(asked, both, strict=True):
        words = find_once(filled, query)
        near = find_once(filled, query, mode="dense")
        assert [p.source for p in found] == fuse([words, near])[:5]
        assert all(p.text == TEXTS[p.source] for p in found)


def test_several_queries_keep_their_order_beyond_one_call(filled):
    with open_index(str(filled)) as index:
        retriever = MilvusRetriever(index)
        found = asyncio.run(retriever.search(["soot", "Tiber"] * 100, k=1))
        assert asyncio.run(retriever.search([], k=1)) == []
        with pytest.raises(UsageError, match="0 passages"):
            asyncio.run(retriever.search(["soot"], k=0))
    assert [p.source for (p,) in found] == ["ink", "rome"] * 100


def test_filling_again_encodes_and_adds_nothing(tmp_path):
    toy, uri = Toy(), tmp_path / "x.db"
    assert build(uri, encoder=toy) == IndexProgress(seen=5, added=5)
    assert build(uri, encoder=toy) == IndexProgress(seen=5, added=0)
    assert toy.calls == 5
    more = TEXTS | {"new": "A new text."}
    assert build(uri, encoder=toy, texts=more) == IndexProgress(seen=6, added=1)
    with open_index(str(uri)) as index:
        assert index.count() == 6


def test_the_same_passage_twice_in_a_corpus_is_added_once(tmp_path):
    with create_index(str(tmp_path / "x.db"), IndexManifest()) as index:
        growth = asyncio.run(fill(index, passages() * 2))
        assert (growth, index.count()) == (IndexProgress(seen=10, added=5), 5)


def test_one_id_with_two_texts_is_refused(tmp_path):
    one, other = Passage(text="One.", source="a"), Passage(text="Other.", source="a")
    with create_index(str(tmp_path / "x.db"), IndexManifest()) as index:
        with pytest.raises(DataError, match="another text"):
            index.missing([one, other])
        index.add([one])
        with pytest.raises(DataError, match="another text"):
            index.missing([other])


def test_a_document_that_grew_is_refused(tmp_path):
    long = " ".join(str(i) for i in range(150))
    build(tmp_path / "x.db", texts={"d": "short", "other": long})
    for texts in ({"d": long}, {"other": "short"}):
        with pytest.raises(DataError, match="another text"):
            build(tmp_path / "x.db", texts=texts)
    whole = tmp_path / "whole.db"  # there ids are the corpus' own
    with create_index(str(whole), IndexManifest(words=0)) as index:
        named = [Passage(text="One.", source="a"), Passage(text="Other.", source="a#1")]
        assert asyncio.run(fill(index, named)).added == 2


def test_a_collection_that_was_killed_in_the_making_is_made_anew(tmp_path, monkeypatch):
    from pymilvus import MilvusClient

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MilvusClient, "create_index", killed)
        with pytest.raises(KeyboardInterrupt):
            build(tmp_path / "x.db")
    assert build(tmp_path / "x.db").added == 5
    assert find(tmp_path / "x.db", "soot") == ["ink"]


def test_an_empty_index_says_so_and_takes_other_settings(tmp_path):
    build(tmp_path / "x.db", texts={})
    with pytest.raises(UsageError, match="is empty"):
        find(tmp_path / "x.db", "soot")
    assert build(tmp_path / "x.db", b=0.75).added == 5


@pytest.mark.parametrize("name", ["my coll", "", "x-y", "1st"])
def test_a_collection_has_a_plain_name(tmp_path, name):
    with pytest.raises(UsageError, match="letters, digits and underscores"):
        create_index(str(tmp_path / "x.db"), IndexManifest(), name=name)
    with pytest.raises(UsageError, match="letters, digits and underscores"):
        open_index(str(tmp_path / "x.db"), name=name)


def test_a_password_in_an_address_is_refused():
    with pytest.raises(UsageError, match="holds a password") as told:
        open_index("http://root:s3cret@127.0.0.1:19530")
    assert "s3cret" not in str(told.value)


def test_nothing_is_encoded_beside_a_text_that_is_too_long(tmp_path):
    toy = Toy()
    with pytest.raises(DataError, match="with `words`"):
        build(tmp_path / "x.db", encoder=toy, words=0, texts={"a": "fine", "b": "x" * 70_000})
    assert toy.calls == 0


def test_other_settings_are_refused(tmp_path):
    build(tmp_path / "x.db")
    with pytest.raises(UsageError, match=r"b is 0\.4 there, 0\.75 here"):
        build(tmp_path / "x.db", b=0.75)
    with pytest.raises(UsageError, match="encoder"):
        build(tmp_path / "x.db", encoder=Toy())


def test_a_graph_needs_a_server(tmp_path):
    with pytest.raises(UsageError, match="needs a server"):
        build(tmp_path / "x.db", vectors="graph")
    assert not (tmp_path / "x.db").exists()


def test_a_graph_is_walked_for_the_papers_hundred_candidates():
    asked = []

    class Engine:
        def search(self, name, data, **how):
            asked.append(how["search_params"]["params"])
            return [[] for _ in data]

    for vectors in ("graph", "exact"):
        manifest = IndexManifest(encoder=Toy().identity, vectors=vectors)
        index = MilvusIndex(Engine(), "passages", "http://nowhere", manifest)
        for k in (5, 300):
            index.by_vectors(np.zeros((1, 26), dtype=np.float32), k=k)
    assert asked == [{"ef": 100}, {"ef": 300}, {}, {}]


def test_another_encoder_is_refused_where_vectors_count(filled):
    with open_index(str(filled)) as index:
        with pytest.raises(UsageError, match="revision is 1 there, 2 here"):
            MilvusRetriever(index, mode="dense", encoder=Toy("2"))
        with pytest.raises(UsageError, match="give `encoder`"):
            MilvusRetriever(index, mode="hybrid")
        with pytest.raises(UnknownNameError):
            MilvusRetriever(index, mode="magic")
        MilvusRetriever(index, mode="bm25")


def test_an_index_without_vectors_says_so(tmp_path):
    build(tmp_path / "x.db")
    with open_index(str(tmp_path / "x.db")) as index:
        with pytest.raises(UsageError, match="by bm25"):
            MilvusRetriever(index, mode="dense")
        with pytest.raises(UsageError, match="no vectors"):
            MilvusRetriever(index, mode="dense", encoder=Toy())
        with pytest.raises(UsageError, match="if and only if"):
            index.add(passages(), np.zeros((5, 26), np.float32))


def test_k1_and_b_reach_the_engine(tmp_path):
    texts = {
        "often": "rain rain rain rain wind",
        "long": "rain fell on every hill, river, road, house, field, tree, stone, bridge, boat",
        "short": "rain fell",
        "other": "snow and ice and sun",
    }
    build(tmp_path / "flat.db", texts=texts, k1=0.0, b=0.0)
    build(tmp_path / "steep.db", texts=texts, k1=3.0, b=0.0)
    build(tmp_path / "long.db", texts=texts, k1=3.0, b=1.0)
    assert find(tmp_path / "steep.db", "rain")[0] == "often"
    assert find(tmp_path / "long.db", "rain") == ["often", "short", "long"]
    assert distinct_scores(tmp_path / "flat.db", "rain") == 1
    assert distinct_scores(tmp_path / "steep.db", "rain") == 2


def test_a_text_beyond_the_engine_says_what_to_do(tmp_path):
    with create_index(str(tmp_path / "x.db"), IndexManifest()) as index:
        with pytest.raises(DataError, match="with `words`"):
            index.missing([Passage(text="é" * 40_000, source="a")])
        with pytest.raises(UsageError, match="needs an id"):
            index.add([Passage(text="a")])


def test_a_collection_of_somebody_else_is_not_ours(tmp_path):
    from pymilvus import MilvusClient

    build(tmp_path / "x.db")
    client = MilvusClient(str(tmp_path / "x.db"))
    client.create_collection("theirs", dimension=4)
    client.close()
    with pytest.raises(DataError, match="not one of ours"):
        open_index(str(tmp_path / "x.db"), name="theirs")
    with pytest.raises(UsageError, match="it has: "):
        open_index(str(tmp_path / "x.db"), name="nobody")


@pytest.fixture
def server(tmp_path):
    """The same engine behind a port: what a cluster's address looks like to us."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from milvus_lite.server import Server

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    engine = Server(str(tmp_path / "served.db"), f"127.0.0.1:{port}")
    assert engine.init()
    assert engine.start()
    yield f"http://127.0.0.1:{port}"
    engine._p.kill()
    engine.stop()


@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.enable_socket
def test_a_server_is_an_address_and_nothing_else(server, filled):
    toy = Toy()
    assert build(server, encoder=toy) == IndexProgress(seen=5, added=5)
    assert build(server, encoder=toy) == IndexProgress(seen=5, added=0)
    for mode in ("bm25", "dense", "hybrid"):
        query = "capital on the Seine"
        served = find(server, query, k=5, mode=mode, encoder=toy)
        assert served == find(filled, query, k=5, mode=mode, encoder=toy)


def test_a_server_that_is_not_there():
    with pytest.raises(ServiceError, match=r"127\.0\.0\.1:9"):
        open_index("http://127.0.0.1:9")


def test_a_file_that_another_process_has_open(tmp_path, monkeypatch):
    monkeypatch.setattr(lite, "_PATIENCE", 0.3)
    uri = tmp_path / "x.db"
    build(uri)
    code = (
        "import sys, time; from novarag.retrieval.milvus import open_index;"
        f"i = open_index({str(uri)!r}); print('open', flush=True); time.sleep(600)"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(StorageError, match="another process"):
            open_index(str(uri))
    finally:
        other.kill()
        other.communicate()
    monkeypatch.setattr(lite, "_PATIENCE", 120.0)
    with open_index(str(uri)) as index:  # its engine ends a moment after it
        assert index.count() == 5


def test_a_second_writer_is_noticed(tmp_path):
    with create_index(str(tmp_path / "x.db"), IndexManifest()) as index:

        def sly():
            index.add([Passage(text="Slipped in.", source="sly")])
            yield from passages()

        with pytest.raises(StorageError, match="6 passages where 5"):
            asyncio.run(fill(index, sly()))


def test_an_engine_that_ended_is_no_orphan(tmp_path):
    assert lite._orphans(str(tmp_path / "x.db")) == []
    assert not lite._runs(tmp_path / "gone", b"x")
    assert lite._parent(tmp_path / "gone") == 0
    assert os.getpid() > 0
