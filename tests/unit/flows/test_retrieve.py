"""Passages found from Python: in a script, inside a running loop, from a thread."""

import asyncio
import inspect
import json
import sys
import threading
import types

import pytest

from novarag import Passage, Question, build_index, load_groups, retrieve, retrieve_async
from novarag.cli.retrieval.retrieve import retrieve as door
from novarag.errors import DataError, UnknownNameError, UsageError
from novarag.flows.events import FileWritten, StepProgress
from novarag.taxonomy import Provenance


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    rows = [{"id": f"d{i}", "text": f"Lighthouse{i} was built by Builder{i}."} for i in range(5)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    build_index(folder / "corpus.jsonl", folder / "x.db")
    return folder / "x.db"


ASKED = ["Who built lighthouse1?", "Who built lighthouse4?"]


def sources(found):
    return [[p.source for p in group.passages] for group in found.groups]


def echo(query, k):
    return [query] * k


def test_in_a_script_from_texts_in_an_index(uri):
    heard = []
    found = retrieve(ASKED, uri=uri, k=1, on_event=heard.append)
    assert sources(found) == [["d1"], ["d4"]]
    assert [g.id for g in found.groups] == [f"{text}/bm25-k1" for text in ASKED]
    assert str(found) == "2 passages for 2 questions"
    assert (found.unanswered, found.empty, found.out) == (2, 0, None)
    assert heard == [StepProgress("questions", 2, 2)]
    assert "groups" not in repr(found)


def test_a_file_in_and_a_file_out(uri, tmp_path):
    path, out, heard = tmp_path / "q.jsonl", tmp_path / "new" / "g.jsonl", []
    row = {"id": "a", "question": ASKED[0], "answers": ["Builder1"]}
    path.write_text(json.dumps(row) + "\n", "utf-8")
    found = retrieve(path, out=out, uri=str(uri), k=1, on_event=heard.append)
    assert heard[-1] == FileWritten(out)
    assert found.groups == tuple(load_groups(out))
    assert (found.out, found.held, found.unanswered) == (out, (), 0)
    in_memory = retrieve(str(path), uri=uri, k=1)
    assert in_memory.groups == found.groups


def test_inside_a_running_loop_from_a_thread_and_awaited(uri):
    async def notebook():
        return sources(retrieve(ASKED, uri=uri, k=1))

    seen = [asyncio.run(notebook())]
    thread = threading.Thread(target=lambda: seen.append(sources(retrieve(ASKED, uri=uri, k=1))))
    thread.start()
    thread.join()
    seen.append(sources(asyncio.run(retrieve_async(ASKED, uri=uri, k=1))))
    assert seen == [[["d1"], ["d4"]]] * 3


class Own:
    async def search(self, queries, *, k):
        return [[Passage(text=q, provenance=Provenance.RETRIEVED)] for q in queries]


def test_a_search_of_ones_own_as_an_object_or_by_name(monkeypatch):
    module = types.ModuleType("my_own_search")
    module.find = echo
    monkeypatch.setitem(sys.modules, "my_own_search", module)
    question = Question(id="a", text="Who?", answers=("Ann",))
    for search, count in [(echo, 2), (Own(), 1), ("my_own_search:find", 2)]:
        (group,) = retrieve([question], search=search, k=2).groups
        assert group.question == question
        assert [p.text for p in group.passages] == ["Who?"] * count
        assert group.id == "a/own-k2"


@pytest.mark.parametrize("wrong", [3, Own])
def test_what_cannot_search_is_a_wrong_type(wrong):
    with pytest.raises(TypeError, match="search must be a Retriever, a function"):
        retrieve(["a"], search=wrong)


@pytest.mark.parametrize("wrong", [3, None, [3], [["a"]]])
def test_what_is_no_question_says_what_was_expected(wrong):
    with pytest.raises(TypeError, match="questions must be the path of a file"):
        retrieve(wrong, search=echo)


def test_what_a_search_raises_is_raised(tmp_path):
    def broken(query, k):
        raise ZeroDivisionError(query)

    with pytest.raises(ZeroDivisionError, match="Who"):
        retrieve(["Who?"], search=broken, out=tmp_path / "g.jsonl")
    assert not list(tmp_path.iterdir())


def test_what_cannot_work_is_said_in_words_of_python(uri, tmp_path):
    with pytest.raises(UsageError, match="`uri`, `search` or `http`, one of them"):
        retrieve(["a"])
    with pytest.raises(UsageError, match=r"must end in \.jsonl"):
        retrieve(["a"], search=echo, out=tmp_path / "g.csv")
    with pytest.raises(UsageError, match="cannot look for 0 passages"):
        retrieve(["a"], search=echo, k=0)
    with pytest.raises(UsageError, match="there are no questions"):
        retrieve([], search=echo)
    with pytest.raises(DataError, match="two questions are called 'a'"):
        retrieve(["a", "a"], search=echo)
    with pytest.raises(UsageError, match=r"`build_index\(CORPUS, uri='nowhere.db'\)` makes one"):
        retrieve(["a"], uri="nowhere.db")
    with pytest.raises(UnknownNameError, match="magic"):
        retrieve(["a"], uri=uri, mode="magic")
    with pytest.raises(UsageError, match="by bm25"):
        retrieve(["a"], uri=uri, mode="dense")


def test_the_doors_defaults_are_those_of_the_function():
    ours = inspect.signature(retrieve).parameters
    shown = inspect.signature(door).parameters
    assert set(shown) == set(ours) - {"on_event"}
    for name in set(shown) - {"out"}:
        assert shown[name].default == ours[name].default
