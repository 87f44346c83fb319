"""An index built from Python: in a script, inside a running loop, from a thread."""

import asyncio
import inspect
import json
import threading

import numpy as np
import pytest

import novarag
from novarag import build_index, build_index_async
from novarag.cli.retrieval.index import index as door
from novarag.errors import DataError, UsageError
from novarag.flows.events import StepProgress
from novarag.retrieval import threads
from novarag.retrieval.encoding import EncoderIdentity
from novarag.retrieval.manifest import IndexManifest
from novarag.retrieval.milvus import open_index
from tests.support.waiting import PATIENCE, until


class Letters:
    """An encoder whose vectors are counts of letters."""

    identity = EncoderIdentity(
        name="letters", revision="1", dim=26, max_tokens=None, pooling="sum", normalised=False
    )

    async def encode(self, texts, *, query=False):
        counts = [[t.lower().count(chr(97 + i)) for i in range(26)] for t in texts]
        return np.array(counts, dtype=np.float32).reshape(-1, 26)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    rows = [{"id": f"d{i}", "text": f"Lighthouse{i} was built by Builder{i}."} for i in range(5)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_in_a_script(corpus, tmp_path):
    heard = []
    built = build_index(corpus, tmp_path / "x.db", limit=3, k1=1.2, on_event=heard.append)
    assert (built.seen, built.added, built.held) == (3, 3, 3)
    assert built.manifest == IndexManifest(k1=1.2)
    assert heard == [StepProgress("passages", 3, 3)]
    again = build_index([str(corpus)], str(tmp_path / "x.db"), k1=1.2)
    assert (again.seen, again.added, again.held) == (5, 2, 5)
    assert " a second), 3 already there; the index has 5" in str(again)
    nothing = build_index(corpus, tmp_path / "x.db", k1=1.2)
    assert str(nothing) == (
        "5 documents, cut into 5 passages of at most 100 words\n"
        "0 passages added, 5 already there; the index has 5"
    )


def test_inside_a_running_loop_and_with_an_encoder_of_ones_own(corpus, tmp_path):
    async def notebook():
        return build_index(corpus, tmp_path / "x.db", encoder=Letters())

    assert asyncio.run(notebook()).manifest.encoder == Letters.identity
    with open_index(str(tmp_path / "x.db")) as index:
        assert index.count() == 5


def test_from_a_thread_and_awaited(corpus, tmp_path):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(build_index(corpus, tmp_path / "a.db").added)
    )
    thread.start()
    thread.join()
    found.append(asyncio.run(build_index_async(corpus, tmp_path / "b.db")).added)
    assert found == [5, 5]


@pytest.mark.parametrize("wrong", [3, None, [3], [b"x"]])
def test_another_type_says_what_was_expected(wrong, tmp_path):
    with pytest.raises(TypeError, match="corpus must be the path"):
        build_index(wrong, tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


def test_what_cannot_work_is_said_in_words_of_python(corpus, tmp_path):
    with pytest.raises(UsageError, match="`vectors='graph'` needs a server"):
        build_index(corpus, tmp_path / "x.db", vectors="graph")
    with pytest.raises(UsageError, match="`corpus` is empty"):
        build_index([], tmp_path / "x.db")
    with pytest.raises(DataError, match="no such file"):
        build_index(tmp_path / "none.jsonl", tmp_path / "x.db")
    with pytest.raises(TypeError, match="an async `encode`, not int"):
        build_index(corpus, tmp_path / "x.db", encoder=3)
    build_index(corpus, tmp_path / "x.db")
    with pytest.raises(UsageError, match="another file or `collection`"):
        build_index(corpus, tmp_path / "x.db", b=0.75)


def test_the_doors_defaults_are_those_of_the_function():
    ours = inspect.signature(build_index).parameters
    shown = inspect.signature(door).parameters
    assert set(shown) == set(ours) - {"on_event"}
    assert all(shown[name].default == ours[name].default for name in shown)


def test_it_is_public():
    assert novarag.IndexBuild.__module__ == "novarag.flows.index"


class Slow:
    """An index whose calls wait for leave."""

    def __init__(self):
        self.called, self.leave, self.done = threading.Event(), threading.Event(), []

    def open(self):
        self.called.set()
        self.leave.wait(PATIENCE)
        self.done.append("open")
        return self

    def add(self):
        self.called.set()
        self.leave.wait(PATIENCE)
        self.done.append("add")

    def close(self):
        self.done.append("close")


def test_an_index_that_opens_while_we_are_cancelled_is_closed():
    slow = Slow()

    async def use():
        async with threads.opened(slow.open):
            slow.done.append("used")

    async def main():
        task = asyncio.create_task(use())
        await until(slow.called.is_set)
        task.cancel()
        await asyncio.sleep(0)
        slow.leave.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert slow.done == ["open", "close"]


def test_an_index_that_cannot_open_while_we_are_cancelled_is_let_go():
    slow = Slow()

    def fail():
        slow.open()
        raise UsageError("no")

    async def use():
        async with threads.opened(fail):
            raise AssertionError

    async def main():
        task = asyncio.create_task(use())
        await until(slow.called.is_set)
        task.cancel()
        slow.leave.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert slow.done == ["open"]


def test_an_index_is_not_closed_under_a_call():
    slow = Slow()

    async def use():
        async with threads.opened(lambda: slow):
            await threads.in_thread(slow.add)

    async def main():
        task = asyncio.create_task(use())
        await until(slow.called.is_set)
        task.cancel()
        await asyncio.sleep(0)
        assert slow.done == []
        slow.leave.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert slow.done == ["add", "close"]
