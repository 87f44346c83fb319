"""The client against a server that fails on purpose, on loopback."""

import asyncio
import gzip
import json
import time
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from novarag import CallError, ChatLLM, Outcome, Patience, Sampling, ServiceError, UsageError
from novarag.llm import parse_endpoint
from novarag.web.failures import seconds
from novarag.web.redaction import REMARK
from tests.support.chaos.server import Settings, start
from tests.support.spellings import KEY, PLACES, leaking, leaks, size_of, spellings
from tests.support.waiting import until

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
QUICK = Patience(concurrency=8, timeout=60.0, attempts=4, backoff=0.01)


def port_of(server):
    return server.sockets[0].getsockname()[1]


def with_server(work, settings=None, *, patience=QUICK, servers=1):
    """Run `work(llm, kitchens)` against fresh servers."""

    async def run():
        opened = [await start(settings or Settings()) for _ in range(servers)]
        endpoints = [parse_endpoint(f"http://127.0.0.1:{port_of(s)}=chaos") for s, _ in opened]
        try:
            async with ChatLLM(endpoints, patience=patience) as llm:
                return await work(llm, [kitchen for _, kitchen in opened])
        finally:
            for server, _ in opened:
                server.close()

    return asyncio.run(run())


def heard():
    told = []
    return told, told.append


def test_samples_usage_and_log_probabilities_come_back():
    async def work(llm, _):
        return await llm.complete("hello", Sampling(n=3, logprobs=True, seed=5))

    reply = with_server(work)
    assert len(reply.completions) == 3
    assert len({c.text for c in reply.completions}) == 3
    assert all(c.logprobs and len(c.tokens) == len(c.logprobs) for c in reply.completions)
    assert reply.usage.completion > reply.usage.prompt


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("429", "rate limited"),
        ("500", "server error"),
        ("reset", "connection lost"),
        ("truncate", "connection lost"),
        ("malform", "malformed reply"),
    ],
)
def test_what_may_pass_is_tried_again_and_then_given_up_with_its_reason(fault, outcome):
    told, tell = heard()

    async def work(llm, kitchens):
        with pytest.raises(CallError) as caught:
            await llm.complete("hello", tell=tell)
        return caught.value, kitchens[0].bill.total

    error, total = with_server(work, Settings(faults={fault: 1.0}))
    assert (error.outcome, total) == (outcome, 4)
    assert [a.outcome for a in told] == [None, outcome] * 4
    assert len({a.id for a in told}) == 4


def test_one_failure_is_made_good():
    async def work(llm, kitchens):
        replies = [await llm.complete(f"hello {i}", key=str(i)) for i in range(60)]
        return replies, kitchens[0].bill

    replies, bill = with_server(work, Settings(faults={"500": 0.2, "reset": 0.1}))
    assert len(replies) == 60
    assert bill.total > 60


def test_a_slow_body_is_waited_for_and_a_hanging_one_is_not():
    async def work(llm, _):
        return await llm.complete("hello")

    assert with_server(work, Settings(faults={"drip": 1.0})).completions
    impatient = Patience(timeout=0.2, attempts=2, backoff=0.01)
    with pytest.raises(CallError) as caught:
        with_server(work, Settings(faults={"hang": 1.0}, hang=5.0), patience=impatient)
    assert caught.value.outcome is Outcome.TIMED_OUT


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(400, Outcome.REFUSED), (422, Outcome.REFUSED), (401, Outcome.DENIED), (404, Outcome.DENIED)],
)
def test_a_refusal_is_never_tried_again(status, outcome):
    async def work(llm, kitchens):
        with pytest.raises(CallError) as caught:
            await llm.complete("hello")
        return caught.value.outcome, kitchens[0].bill.total

    assert with_server(work, Settings(refuse=status)) == (outcome, 1)


@pytest.mark.parametrize("status", [408, 409, 503])
def test_a_refusal_for_now_is_tried_again(status):
    async def work(llm, kitchens):
        with pytest.raises(CallError, match=f"HTTP {status}"):
            await llm.complete("hello")
        return kitchens[0].bill.total

    assert with_server(work, Settings(refuse=status)) == 4


def test_redirects_are_not_followed():
    async def work(llm, kitchens):
        with pytest.raises(CallError, match=r"evil\.example") as caught:
            await llm.complete("hello")
        return caught.value.outcome, kitchens[0].bill.total

    settings = Settings(redirect="http://evil.example/v1/chat/completions")
    assert with_server(work, settings) == (Outcome.REDIRECTED, 1)


def test_a_server_that_ignores_n_is_named():
    async def work(llm, _):
        with pytest.raises(CallError, match="`per_request=1`"):
            await llm.complete("hello", Sampling(n=4))

    with_server(work, Settings(ignore_n=True))


def test_retry_after_is_honoured():
    told, tell = heard()

    async def work(llm, _):
        began = time.monotonic()
        await llm.complete("first")
        await llm.complete("second", tell=tell)
        return time.monotonic() - began

    took = with_server(work, Settings(rate=2.0, burst=1.0))
    assert took >= 1.0
    assert [a.outcome for a in told] == [None, Outcome.RATE_LIMITED, None]


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        (None, None),
        ("", None),
        ("2", 2.0),
        ("0.5", 0.5),
        ("99999", 300.0),
        ("-1", None),
        ("nan", None),
        ("soon", None),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 300.0),
        ("Fri, 01 Jan 1999 00:00:00 GMT", None),
        ("Fri, 01 Jan 99999999999 00:00:00 GMT", None),
    ],
)
def test_forms_of_retry_after(header, wait):
    assert seconds(header) == wait


def test_requests_go_where_there_is_room():
    async def work(llm, kitchens):
        await asyncio.gather(*(llm.complete(f"hello {i}") for i in range(90)))
        return [kitchen.bill.total for kitchen in kitchens]

    totals = with_server(work, Settings(latency=0.005), servers=3)
    assert sum(totals) == 90
    assert min(totals) > 15


def test_a_dead_endpoint_does_not_stop_the_living():
    async def run():
        server, kitchen = await start(Settings())
        dead, _ = await start(Settings())
        gone = port_of(dead)
        dead.close()
        await dead.wait_closed()
        endpoints = [parse_endpoint(f"http://127.0.0.1:{p}=chaos") for p in (gone, port_of(server))]
        async with ChatLLM(endpoints, patience=QUICK) as llm:
            replies = await asyncio.gather(
                *(llm.complete(f"hello {i}") for i in range(60)), return_exceptions=True
            )
        server.close()
        return [r for r in replies if not isinstance(r, Exception)], kitchen.bill.total

    good, total = asyncio.run(run())
    assert len(good) >= 55
    assert total >= 55


def test_the_limit_of_requests_in_flight_holds():
    async def work(llm, kitchens):
        await asyncio.gather(*(llm.complete(f"hello {i}") for i in range(64)))
        return kitchens[0].bill.most_in_flight

    assert with_server(work, Settings(latency=0.01), patience=Patience(concurrency=5)) <= 5


def test_a_cancelled_request_gives_its_place_back():
    async def work(llm, kitchens):
        task = asyncio.create_task(llm.complete("hello"))
        await until(lambda: kitchens[0].bill.total)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return llm.dispatcher.in_flight

    assert with_server(work, Settings(latency=60.0)) == 0


def test_the_key_reaches_the_server_and_nothing_else(monkeypatch):
    canary = "sk-canary-0123456789"
    monkeypatch.setenv("NOVARAG_API_KEY", canary)
    told, tell = heard()

    async def work(llm, _):
        with pytest.raises(CallError) as caught:
            await llm.complete("hello", tell=tell)
        return str(caught.value) + repr(llm.dispatcher.queues[0].endpoint) + repr(told)

    said = with_server(work, Settings(refuse=400, echo_key=True))
    assert "Bearer [key]" in said
    assert canary not in said


def test_a_wrong_address_shows_at_once():
    async def run():
        async with ChatLLM([parse_endpoint("http://127.0.0.1:9=m")], patience=QUICK) as llm:
            await llm.check()

    with pytest.raises(CallError, match=r"cannot connect to http://127\.0\.0\.1:9/v1"):
        asyncio.run(run())


def test_a_wrong_model_shows_at_once():
    async def work(llm, _):
        await llm.check()
        wrong = parse_endpoint(f"{llm.dispatcher.queues[0].endpoint.url}=other")
        async with ChatLLM([wrong], patience=QUICK) as other:
            with pytest.raises(UsageError, match="serves chaos, not other"):
                await other.check()

    with_server(work)


def test_what_cannot_work_is_said_before_anything_is_sent():
    a, b = parse_endpoint("http://x=a"), parse_endpoint("http://x=b")
    with pytest.raises(UsageError, match="one model"):
        ChatLLM([a, b])
    with pytest.raises(UsageError, match="at least one"):
        ChatLLM([])
    with pytest.raises(UsageError, match="async with"):
        asyncio.run(ChatLLM([a]).complete("hello"))


def refused_as_too_long(serve, most):
    """Ask a server that is nothing but `serve`, which sends too much."""

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        patience = Patience(attempts=1, largest_reply=most)
        endpoint = parse_endpoint(f"http://127.0.0.1:{port_of(server)}=m")
        async with ChatLLM([endpoint], patience=patience) as llm:
            with pytest.raises(CallError, match=f"longer than {most:,} bytes"):
                await llm.complete("hello")
        server.close()

    asyncio.run(run())


def test_a_reply_without_end_is_cut_off():
    async def flood(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            writer.close()

    refused_as_too_long(flood, 100_000)


@asynccontextmanager
async def bad_line(port, *, piece=1 << 16, pause=0.0, cut_after=None, every=1):
    """Forward connections to a port in late pieces; cut every n-th after some bytes of reply.

    Yields the address and how many connections were cut.
    """
    cut = Counter()
    tasks = []

    async def pour(reader, writer, limit=None):
        while data := await reader.read(piece if limit is None else min(piece, limit)):
            await asyncio.sleep(pause)
            writer.write(data)
            await writer.drain()
            limit = None if limit is None else limit - len(data)
            if limit == 0:
                cut["lines"] += 1
                raise ConnectionAbortedError

    async def serve(reader, writer):
        tasks.append(asyncio.current_task())
        there, back = await asyncio.open_connection("127.0.0.1", port)
        limit = cut_after if len(tasks) % every == 0 else None
        pours = asyncio.gather(pour(reader, back), pour(there, writer, limit))
        try:
            await pours
        except ConnectionError:
            pours.cancel()
        finally:
            writer.transport.abort()
            back.transport.abort()

    line = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{port_of(line)}=chaos", cut
    finally:
        line.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("line", [{"piece": 20, "pause": 0.0001}, {"pause": 0.03}], ids=str)
def test_a_bad_line_changes_nothing_but_time(line):
    async def run():
        server, _ = await start(Settings())
        async with (
            bad_line(port_of(server), **line) as (url, _),
            ChatLLM([parse_endpoint(url)], patience=QUICK) as llm,
        ):
            through = await llm.complete("hello")
        async with ChatLLM([parse_endpoint(f"http://127.0.0.1:{port_of(server)}=chaos")]) as llm:
            direct = await llm.complete("hello")
        server.close()
        return through.completions == direct.completions

    assert asyncio.run(run())


@pytest.mark.parametrize("after", [1, 100], ids="{} bytes".format)
def test_a_line_that_breaks_is_tried_again(after):
    async def run():
        server, _ = await start(Settings())
        async with bad_line(port_of(server), cut_after=after, every=2) as (url, cut):
            patience = Patience(attempts=12, backoff=0.01)
            async with ChatLLM([parse_endpoint(url)], patience=patience) as llm:
                replies = await asyncio.gather(*(llm.complete(f"q {i}") for i in range(12)))
        server.close()
        return len(replies), cut["lines"]

    replies, cut = asyncio.run(run())
    assert replies == 12
    assert cut > 0


def test_the_server_bills_a_key_once_when_told_to():
    async def work(llm, kitchens):
        first = await llm.complete("hello", key="k")
        again = await llm.complete("hello", key="k")
        return first.completions == again.completions, kitchens[0].bill.keys["k"]

    assert with_server(work, Settings(idempotent=True)) == (True, 1)
    assert with_server(work, Settings(idempotent=False)) == (True, 2)


def test_errors_say_whether_to_try_again():
    assert issubclass(CallError, ServiceError)
    assert CallError(Outcome.TIMED_OUT, "x").retryable
    assert not CallError(Outcome.REFUSED, "x").retryable
    assert json.dumps([o.paid for o in Outcome]).count("perhaps") == 4


def test_nobody_waits_for_ever_at_a_paused_endpoint():
    patience = Patience(concurrency=200, attempts=1)

    async def work(llm, _):
        asked = (llm.complete(f"hello {i}") for i in range(11))
        return await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 120)

    settings = Settings(faults={"500": 0.9}, seed=3)
    assert len(with_server(work, settings, patience=patience)) == 11


def test_an_endpoint_that_answers_rubbish_does_not_eat_the_run():
    async def run():
        good, _ = await start(Settings(latency=0.01))
        bad, _ = await start(Settings(faults={"malform": 1.0}))
        endpoints = [parse_endpoint(f"http://127.0.0.1:{port_of(s)}=chaos") for s in (good, bad)]
        async with ChatLLM(endpoints, patience=QUICK) as llm:
            asked = (llm.complete(f"hello {i}") for i in range(100))
            replies = await asyncio.gather(*asked, return_exceptions=True)
        good.close()
        bad.close()
        return sum(isinstance(r, Exception) for r in replies)

    assert asyncio.run(run()) <= 5


@pytest.mark.parametrize("place", PLACES)
def test_an_echoed_key_is_taken_out_of_every_place(monkeypatch, place):
    names = ("plain", "all json", "third percent", "base64 second", "zero width", "middle plain")
    written = [spellings()[name](KEY) for name in names]
    monkeypatch.setenv("NOVARAG_API_KEY", KEY)
    told, tell = heard()

    async def work(url):
        said = []
        async with ChatLLM([parse_endpoint(f"{url}=chaos")], patience=QUICK) as llm:
            for i in range(len(written)):
                try:
                    await llm.check()
                    asked = f"When was lighthouse {i} lit?"
                    reply = await llm.complete(asked, Sampling(logprobs=True), tell=tell)
                    said += [str(reply), "".join(reply.completions[0].tokens)]
                    assert reply.remarks == (REMARK,)
                except (CallError, UsageError) as error:
                    said.append(str(error))
        return "\n".join([*said, str(told)])

    with leaking(place, written) as url:
        said = asyncio.run(work(url))
    assert "[key]" in said
    for name, spelled in zip(names, written, strict=True):
        assert not leaks(spelled, size_of(name), said), name
        assert not leaks(repr(spelled)[1:-1], size_of(name), said), name


def test_a_dummy_key_changes_no_answer(monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", "1")

    async def work(llm, _):
        return await llm.complete("hello")

    dummy = with_server(work)
    monkeypatch.delenv("NOVARAG_API_KEY")
    assert with_server(work).completions == dummy.completions
    assert dummy.remarks == ()


def test_a_small_parcel_may_not_unfold_into_a_flood():
    packed = gzip.compress(b"x" * 5_000_000)

    async def unfold(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        size = f"Content-Length: {len(packed)}\r\n\r\n"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n" + size.encode() + packed)
        await writer.drain()
        writer.close()

    refused_as_too_long(unfold, 1_000_000)
