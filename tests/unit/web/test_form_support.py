"""Whether a server can hold replies to a form: found once, by the first request that asks."""

import asyncio
import pickle

import pytest

from novarag.calls import CallError, Outcome, Reply, Sampling
from novarag.records import Completion
from novarag.web.form_support import FormLLM, FormSupport, forget_holdings, holding_at

FORM = "Answer: [a-z]{1,9}"
SAMPLING = Sampling(max_tokens=9)


@pytest.fixture(autouse=True)
def _waits(monkeypatch):
    monkeypatch.setattr("novarag.web.form_support.WAIT", 600.0)


class Server:
    """A model that refuses, holds, ignores or fails at a form, and remembers what it was asked."""

    def __init__(self, kind, *, free=None):
        self.kind, self.free, self.forms = kind, free, []
        self.gate, self.arrivals = asyncio.Event(), asyncio.Queue()
        self.gate.set()

    async def came(self, count):
        """Wait until so many requests are under way."""
        for _ in range(count - len(self.forms)):
            await self.arrivals.get()

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        self.forms.append(sampling.regex)
        self.arrivals.put_nowait(sampling.regex)
        if sampling.regex is not None:
            await self.gate.wait()
            if isinstance(self.kind, Outcome):
                raise CallError(self.kind, "no")
        elif self.free is not None:
            raise CallError(self.free, "no")
        held = sampling.regex is not None and self.kind == "hold"
        text = "Answer: ada" if held else "Well, Ada."
        said = Completion(text=text, model="m", truncated=self.kind == "cut")
        return Reply(completions=(said,))


def ask(server, holding, times=1):
    async def run():
        asked = (FormLLM(server, holding).complete("Q", SAMPLING, FORM) for _ in range(times))
        return [(await one).completions[0].text for one in asked]

    return asyncio.run(run())


def at_once(server, holding, times):
    async def run():
        server.gate.clear()
        asked = FormLLM(server, holding)
        tasks = [asyncio.create_task(asked.complete("Q", SAMPLING, FORM)) for _ in range(times)]
        await server.came(1)
        server.gate.set()
        return await asyncio.gather(*tasks)

    return asyncio.run(run())


def test_a_server_that_holds_is_asked_for_the_form_each_time():
    server, holding = Server("hold"), FormSupport()
    assert ask(server, holding, 3) == ["Answer: ada"] * 3
    assert server.forms == [FORM] * 3
    assert holding.can is True


@pytest.mark.parametrize("kind", [Outcome.REFUSED, Outcome.SERVER_ERROR])
def test_one_refusal_and_it_is_asked_freely(kind):
    server, holding = Server(kind), FormSupport()
    assert ask(server, holding, 3) == ["Well, Ada."] * 3
    assert server.forms == [FORM, None, None, None]
    assert holding.can is False


def test_requests_at_once_wait_for_the_first_of_them():
    server, holding = Server(Outcome.REFUSED), FormSupport()
    assert len(at_once(server, holding, 50)) == 50
    assert server.forms.count(FORM) == 1
    assert server.forms.count(None) == 50


def test_a_server_that_heeds_no_form_is_asked_for_none_again():
    server, holding = Server("ignore"), FormSupport()
    assert ask(server, holding, 3) == ["Well, Ada."] * 3
    assert server.forms == [FORM, None, None]
    assert holding.can is False


def test_of_a_reply_that_was_cut_off_nothing_says_that_it_was_not_held():
    server, holding = Server("cut"), FormSupport()
    ask(server, holding, 2)
    assert server.forms == [FORM, FORM]
    assert holding.can is True


def test_what_fails_without_the_form_too_says_nothing_of_the_form():
    server, holding = Server(Outcome.REFUSED, free=Outcome.REFUSED), FormSupport()
    with pytest.raises(CallError, match="refused"):
        ask(server, holding)
    assert holding.can is None
    server.kind = "hold"
    assert ask(server, holding) == ["Answer: ada"]


@pytest.mark.parametrize("kind", [Outcome.DENIED, Outcome.TIMED_OUT, Outcome.UNREACHABLE])
def test_what_has_nothing_to_do_with_the_form_is_raised_at_once(kind):
    server, holding = Server(kind), FormSupport()
    with pytest.raises(CallError):
        ask(server, holding)
    assert server.forms == [FORM]
    assert holding.can is None


def test_one_form_too_many_is_a_doubt_and_the_next_request_finds_out():
    server, holding = Server("hold"), FormSupport()
    ask(server, holding)
    server.kind = Outcome.REFUSED
    assert ask(server, holding) == ["Well, Ada."]
    assert holding.can is None
    server.kind = "hold"
    assert ask(server, holding) == ["Answer: ada"]
    assert holding.can is True


def test_a_failing_server_that_can_hold_is_not_asked_twice():
    server, holding = Server(Outcome.SERVER_ERROR), FormSupport(True)
    with pytest.raises(CallError):
        ask(server, holding)
    assert server.forms == [FORM]


def test_a_request_that_is_given_up_lets_the_next_find_out():
    async def run():
        server, holding = Server("hold"), FormSupport()
        server.gate.clear()
        first = asyncio.create_task(FormLLM(server, holding).complete("Q", SAMPLING, FORM))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(FormLLM(server, holding).complete("Q", SAMPLING, FORM))
        await asyncio.sleep(0)
        first.cancel()
        server.gate.set()
        return (await waiting).completions[0].text, holding.can

    assert asyncio.run(run()) == ("Answer: ada", True)


def test_a_thread_with_a_loop_of_its_own_waits_for_nobody():
    async def first():
        server, holding = Server(Outcome.REFUSED), FormSupport()
        assert await holding.may_ask()
        return await asyncio.to_thread(ask, server, holding)

    assert asyncio.run(first()) == ["Well, Ada."]


def test_nobody_waits_for_a_first_request_that_takes_long(monkeypatch):
    async def run():
        monkeypatch.setattr("novarag.web.form_support.WAIT", 0.0)
        server, holding = Server("hold"), FormSupport()
        server.gate.clear()
        asked = FormLLM(server, holding)
        tasks = [asyncio.create_task(asked.complete("Q", SAMPLING, FORM)) for _ in range(3)]
        await server.came(3)  # all are under way before any has ended
        server.gate.set()
        await asyncio.gather(*tasks)
        return server.forms

    assert asyncio.run(run()) == [FORM] * 3


def test_without_a_form_nothing_is_tried():
    server, holding = Server(Outcome.REFUSED), FormSupport()
    asyncio.run(FormLLM(server, holding).complete("Q", SAMPLING, None))
    assert server.forms == [None]
    assert holding.can is None


def test_what_is_known_of_a_place_is_known_to_all_who_ask_there():
    holding_at("http://a", "llama").found(False)
    assert holding_at("http://a", "llama").can is False
    assert holding_at("http://a", "other").can is None
    forget_holdings()
    assert holding_at("http://a", "llama").can is None


def test_what_is_known_goes_with_a_job_to_another_process():
    assert pickle.loads(pickle.dumps(FormSupport(False))).can is False
