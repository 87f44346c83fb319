"""A gateway on a real port before a scripted upstream, both in one event loop."""

import asyncio
import json
import re
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from novarag.gateway.http.server import make_server
from novarag.gateway.snapshot import Snapshot
from novarag.gateway.state import Gateway

QUESTION = "In which year was the lamp lit?"
PASSAGES = ["The lamp was lit in 1871.", "Bread rises slowly."]
REPLY = (
    "Step 1: It states a year.\nStep 2: It is about bread.\nStep 3: Rule 2 applies.\n"
    "Passage Classifications: Passage 1: Highly Relevant; Passage 2: Irrelevant\n"
    "Group Judgment: Consistent\nAnswer: 1871\nConfidence: 90%"
)


def framed(reply, prompt):
    """Write a reply with the frame that the prompt asks for, as a model would."""
    found = re.findall(r"Answer\[([0-9a-f]{6})\]:", prompt)
    if not found:
        return reply
    labels = r"(Passage Classifications|Group Judgment|Confidence|Answer):"
    return re.sub(labels, rf"\1[{found[-1]}]:", reply)


class Upstream:
    """A server of chat completions that replies as it is told, and remembers what it was sent."""

    def __init__(self, reply=REPLY, *, act=None):
        self.reply, self.act, self.seen, self.cut = reply, act, [], 0

    async def reply_to(self, request):
        body = await request.json()
        self.seen.append(body)
        if self.act is not None:
            done = await self.act(self, request, body)
            if done is not None:
                return done
        prompt = body["messages"][-1]["content"]
        told = self.reply(body) if callable(self.reply) else self.reply
        text = framed(told, prompt) if isinstance(prompt, str) else told
        if body.get("stream"):
            return await self.streamed(request, text)
        return web.json_response(completion(text))

    async def streamed(self, request, text, *, size=7, until=None, done=True):
        """Send a reply in pieces; `until` stops after so many of them, without an end."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        try:
            for piece in pieces[:until]:
                await response.write(event({"choices": [{"delta": {"content": piece}}]}))
            if until is None:
                last = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
                await response.write(event(last))
                usage = {"prompt_tokens": 11, "completion_tokens": 7}
                await response.write(event({"choices": [], "usage": usage}))
                if done:
                    await response.write(b"data: [DONE]\n\n")
        except (ConnectionError, asyncio.CancelledError):
            self.cut += 1
            raise
        return response


def completion(text, **more):
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 7}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage} | more


def event(content):
    return b"data: " + json.dumps(content).encode() + b"\n\n"


@asynccontextmanager
async def served(handler):
    """Serve an upstream at /v1/chat/completions; yields the address."""
    app = web.Application(client_max_size=10**8)
    app.router.add_post("/v1/chat/completions", handler.reply_to)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        await runner.cleanup()


class RawUpstream:
    """A server that replies to every request with the same bytes, and closes the connection."""

    def __init__(self, reply):
        self.reply = reply


@asynccontextmanager
async def served_raw(handler):
    """Serve a raw upstream; yields the address."""

    async def reply(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        await reader.readexactly(int(length[1]))
        writer.write(handler.reply)
        writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def settings(url, *, model="", more=""):
    """Write a settings file: one upstream, one model called support."""
    return f"""
[listen]
port = 0
[upstreams.main]
url = "{url}"
{more}
[models.support]
upstream = "main"
name = "llama"
{model}
"""


@asynccontextmanager
async def gateway_at(path):
    """Serve a gateway with a settings file; yields a client of it."""
    gateway = Gateway(Snapshot(path))
    server = make_server(gateway)
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            task.result()
            raise RuntimeError("the gateway did not start")
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            client.gateway, client.server, client.port = gateway, server, port
            yield client
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def fronted(folder, upstream, *, model="", more="", tail=""):
    """Serve a gateway before an upstream; yields a client of the gateway."""
    serve = served_raw if isinstance(upstream, RawUpstream) else served
    async with serve(upstream) as url:
        path = folder / "gateway.toml"
        path.write_text(settings(url, model=model, more=more) + tail)
        async with gateway_at(path) as client:
            yield client


def ask(**more):
    """Write a request with a question and passages."""
    return {
        "model": "support",
        "messages": [{"role": "user", "content": QUESTION}],
        "novarag": {"passages": PASSAGES},
    } | more


async def post(client, body, path="/v1/chat/completions"):
    """Post a body; return status, headers and JSON."""
    async with client.post(path, json=body) as response:
        return response.status, response.headers, await response.json()


async def events(client, body):
    """Post a body and read the stream; return status, headers and the data of each event."""
    async with client.post("/v1/chat/completions", json=body | {"stream": True}) as response:
        raw = await response.read()
        found = [line[6:] for line in raw.decode().split("\n") if line.startswith("data: ")]
        return response.status, response.headers, found
