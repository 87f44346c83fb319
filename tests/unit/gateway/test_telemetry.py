"""Traces and events against a real OTLP receiver: what is sent, what it hangs on, what it lacks."""

import asyncio
import gc
import subprocess
import sys
import threading
import warnings
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.gateways import REPLY, Upstream, ask, events, fronted, post

pytestmark = pytest.mark.enable_socket


@pytest.fixture(autouse=True)
def exporters_end_here():
    """Wait for threads that still try to send: what they leave open would fail another test."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
MARK = "planted4711"
PLAIN = {"model": "support", "messages": [{"role": "user", "content": "Hi " + MARK}]}


class Receiver:
    """A receiver of OTLP over HTTP that keeps what it gets."""

    def __init__(self):
        self.spans, self.logs, self.raw = [], [], b""

    async def traces(self, request):
        body = await request.read()
        self.raw += body
        sent = ExportTraceServiceRequest.FromString(body)
        self.spans += [s for r in sent.resource_spans for c in r.scope_spans for s in c.spans]
        return web.Response()

    async def events(self, request):
        body = await request.read()
        self.raw += body
        sent = ExportLogsServiceRequest.FromString(body)
        self.logs += [e for r in sent.resource_logs for c in r.scope_logs for e in c.log_records]
        return web.Response()

    @asynccontextmanager
    async def served(self):
        app = web.Application()
        app.router.add_post("/v1/traces", self.traces)
        app.router.add_post("/v1/logs", self.events)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        finally:
            await runner.cleanup()


def facts(record):
    kinds = {"string_value", "int_value", "double_value", "bool_value"}
    return {a.key: next(getattr(a.value, k) for k in kinds if a.value.HasField(k))
            for a in record.attributes}  # fmt: skip


def run(tmp_path, story, *, act=None, more=""):
    """Play a story before a receiver; return it, and the headers that the upstream got."""
    receiver, heard = Receiver(), []

    async def listen(upstream, request, body):
        heard.append(dict(request.headers))
        return None if act is None else await act(upstream, request, body)

    async def whole():
        async with receiver.served() as address:
            tail = f'[telemetry]\notlp = "{address}"\n{more}'
            async with fronted(tmp_path, Upstream(act=listen), tail=tail) as client:
                await story(client)

    asyncio.run(whole())
    return receiver, heard


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_is_a_span_with_its_asking_and_its_confidence(tmp_path, stream):
    async def story(client):
        headers = {"traceparent": PARENT, "tracestate": "a=b", "baggage": f"x={MARK}"}
        body = ask(stream=stream, user=MARK)
        async with client.post("/v1/chat/completions", json=body, headers=headers) as reply:
            await reply.read()
            seen.append(reply.headers["x-novarag-id"])

    seen = []
    receiver, heard = run(tmp_path, story)
    asking, request = sorted(receiver.spans, key=lambda s: s.name != "chat main")
    assert (request.name, request.kind) == ("chat support", 2)  # a server's
    assert request.trace_id.hex() == asking.trace_id.hex() == TRACE
    assert request.parent_span_id.hex() == PARENT.split("-")[2]
    assert asking.parent_span_id == request.span_id
    assert heard[0]["traceparent"] == f"00-{TRACE}-{asking.span_id.hex()}-01"
    assert (heard[0]["tracestate"], "baggage" in heard[0]) == ("a=b", False)
    told = facts(request)
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == "support"
    assert told["gen_ai.response.id"] == f"chatcmpl-{seen[0]}"
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (11, 7)
    assert (told["novarag.decision"], told["http.response.status_code"]) == ("answer", 200)
    (event,) = receiver.logs
    assert event.event_name == "gen_ai.evaluation.result"
    assert (event.trace_id, event.span_id) == (request.trace_id, request.span_id)
    told = facts(event)
    assert told["gen_ai.evaluation.name"] == "novarag.confidence"
    assert told["gen_ai.evaluation.score.value"] == 0.9
    assert told["gen_ai.evaluation.score.label"] == "answer"
    assert told["gen_ai.evaluation.explanation"]
    assert told["gen_ai.response.id"] == f"chatcmpl-{seen[0]}"
    assert (told["novarag.evidence"], told["novarag.calibrated"]) == ("consistent", False)
    for text in (MARK, "lamp", "1871", "Bread", "Rule 2"):
        assert text.encode() not in receiver.raw


def test_failures_are_marked_by_their_kind_and_passed_requests_have_no_confidence(tmp_path):
    async def fail(_, request, body):
        if "junk" in str(body):
            request.transport.write(f"HTTP/1.1 {MARK}\r\n\r\n".encode())
            request.transport.close()
        return web.Response(status=500, text=MARK) if "fail" in str(body) else None

    async def story(client):
        await post(client, PLAIN)
        await post(client, PLAIN | {"messages": [{"role": "user", "content": f"fail {MARK}"}]})
        await post(client, PLAIN | {"messages": [{"role": "user", "content": "junk"}]})
        await post(client, {"model": MARK, "messages": PLAIN["messages"]})

    receiver, _ = run(tmp_path, story, act=fail)
    assert not receiver.logs
    assert MARK.encode() not in receiver.raw
    ended = {facts(s)["http.response.status_code"]: s for s in receiver.spans if s.kind == 2}
    assert {code: (s.status.code, facts(s).get("error.type")) for code, s in ended.items()} == {
        200: (0, None), 502: (2, "Unavailable"), 404: (2, "BadRequest"),
    }  # fmt: skip
    assert ended[404].name == "POST /v1/chat/completions"  # its model is the client's word


@pytest.mark.parametrize(
    "headers",
    [{"traceparent": "x"}, {"traceparent": "00-" + "0" * 32 + "-" + "0" * 16 + "-01"},
     {"traceparent": PARENT + "a" * 5000}, {"tracestate": "a=" + "b" * 5000}],
)  # fmt: skip
def test_a_trace_that_is_none_is_left_aside(tmp_path, headers):
    async def story(client):
        async with client.post("/v1/chat/completions", json=ask(), headers=headers) as reply:
            assert reply.status == 200

    receiver, heard = run(tmp_path, story)
    assert {s.trace_id.hex() for s in receiver.spans} != {TRACE}
    assert len({s.trace_id for s in receiver.spans}) == 1
    assert "tracestate" not in heard[0]


def test_a_share_of_requests_gets_spans_and_a_trace_that_goes_on_is_kept_whole(tmp_path):
    async def story(client):
        await post(client, ask())
        headers = {"traceparent": PARENT}
        async with client.post("/v1/chat/completions", json=ask(), headers=headers) as reply:
            await reply.read()

    receiver, _ = run(tmp_path, story, more="sample = 0.0\n")
    assert {s.trace_id.hex() for s in receiver.spans} == {TRACE}
    assert len(receiver.logs) == 2  # confidences are told of all


def test_a_receiver_that_is_away_costs_no_request(tmp_path, monkeypatch):
    monkeypatch.setattr("novarag.gateway.observe.telemetry._LAST", 0.2)

    async def whole():
        tail = '[telemetry]\notlp = "http://127.0.0.1:9"\n'
        async with fronted(tmp_path, Upstream(), tail=tail) as client:
            for _ in range(3):
                assert (await post(client, ask()))[0] == 200
            assert (await events(client, ask()))[0] == 200

    asyncio.run(whole())


def test_without_telemetry_nothing_of_it_is_imported_or_sent_on(tmp_path):
    heard = []

    async def listen(_, request, __):
        heard.append(dict(request.headers))

    async def whole():
        async with fronted(tmp_path, Upstream(REPLY, act=listen)) as client:
            headers = {"traceparent": PARENT}
            await client.post("/v1/chat/completions", json=ask(), headers=headers)

    asyncio.run(whole())
    assert "traceparent" not in heard[0]
    code = "import sys, novarag.gateway.http.server; print([m for m in sys.modules if 'telemetry' in m or 'prometheus' in m])"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
