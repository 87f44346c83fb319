"""Encoders, models of entailment and searches: objects are taken as they are."""

import asyncio

import pytest

from novarag.errors import UsageError
from novarag.flows.encoders import import_object, open_encoder, open_entailment, open_search
from novarag.flows.events import Note


class Encoder:
    identity = "any"

    async def encode(self, texts, *, query=False):
        return [[1.0] for _ in texts]


class Blocking(Encoder):
    def encode(self, texts):
        return [[1.0] for _ in texts]


def test_an_encoder_that_was_handed_in_is_open():
    own, heard = Encoder(), []
    assert asyncio.run(open_encoder(own, on_event=heard.append)) is own
    assert heard == []


@pytest.mark.parametrize("wrong", [3, None, Blocking(), Encoder().encode])
def test_what_cannot_encode_is_a_wrong_type(wrong):
    with pytest.raises(TypeError, match=r"encoder must be a folder.*an async `encode`"):
        asyncio.run(open_encoder(wrong))


def test_opening_by_name_is_told(monkeypatch):
    heard = []
    monkeypatch.setattr("novarag.retrieval.local_encoder.load_encoder", lambda spec: spec)
    assert asyncio.run(open_encoder("a/model", on_event=heard.append)) == "a/model"
    assert heard == [Note("opening the encoder a/model")]


def test_a_function_weighs_entailment():
    def weigh(pairs):
        return [(1.0, 0.0, 0.0) for _ in pairs]

    assert open_entailment(weigh) is weigh
    with pytest.raises(TypeError, match="nli must be a function"):
        open_entailment(3)


def test_one_search_is_named():
    for given in ({}, {"search": "a:b", "http": "http://x"}):
        with pytest.raises(UsageError, match="by `search` or by `http`, one of them"):
            open_search(**given)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("json", "write package.module:OBJECT"),
        (":dumps", "write package.module:OBJECT"),
        ("json:nothing", "has no attribute 'nothing'"),
        ("no_such_module_here:x", "No module named"),
        ("a b:x", "cannot be imported"),
    ],
)
def test_what_cannot_be_imported_says_why(name, said):
    with pytest.raises(UsageError, match=said):
        import_object(name)
