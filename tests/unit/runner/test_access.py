"""Models by address, by name or as objects."""

import asyncio

import pytest

from novarag.calls import Reply, Sampling, is_simulated, simulated_note
from novarag.errors import NovaragError, ServiceError
from novarag.llm import Endpoint, ScriptedLLM
from novarag.records import Completion
from novarag.runner.access import Access, reach


def test_an_address_and_its_replicas():
    found = reach(["http://a:1/v1=m", "http://b:1/v1=m"], Access(concurrency=3))
    assert (found.name, found.replicas, found.simulated) == ("m", 2, False)
    assert found.connector()().patience.concurrency == 3


def test_an_endpoint_is_an_address_too():
    assert reach(Endpoint(url="http://a:1/v1", model="m")).name == "m"


def test_a_simulated_respondent_is_known_by_name():
    assert reach("simulated:base").simulated
    assert is_simulated("simulated:base")
    assert not is_simulated("m")
    assert simulated_note("m") == []
    assert "instrument" in simulated_note("simulated:base")[0]
    with pytest.raises(NovaragError, match="nobody"):
        reach("simulated:nobody")


@pytest.mark.parametrize("wrong", [3, None, [], [3], 2.5])
def test_another_type_says_what_was_expected(wrong):
    with pytest.raises(TypeError, match="URL=NAME"):
        reach(wrong)


class Stingy:
    model = "stingy"

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        return Reply(completions=(Completion(text=prompt, model="stingy"),), attempt="1")


class Opened(Stingy):
    opened = 0

    async def __aenter__(self):
        Opened.opened += 1
        return self

    async def __aexit__(self, *_):
        Opened.opened -= 1


@pytest.mark.parametrize("llm", [Stingy(), Opened()])
def test_a_model_of_ones_own_is_held_to_its_promise(llm):
    found, heard = reach(llm), []
    assert found.name == "stingy"

    async def ask(n):
        async with found.connector()() as open_llm:
            return await open_llm.complete("hello", Sampling(n=n), tell=heard.append)

    assert asyncio.run(ask(1)).completions[0].text == "hello"
    assert [a.id for a in heard] == ["1"]
    with pytest.raises(ServiceError, match="asked for 2 samples, got 1"):
        asyncio.run(ask(2))
    assert Opened.opened == 0


def test_a_function_that_opens_a_model():
    assert reach(lambda: ScriptedLLM({})).name == "function"
