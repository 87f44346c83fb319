"""LiteLLM's real proxy before a gateway's process, with the lines of docs/gateway-clients.md.

`make test-litellm`: NOVARAG_LITELLM is the Python of an environment with tests/real/litellm.txt.
"""

import asyncio
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from novarag.gateway.http.keys import hash_key
from tests.support.gateways import PASSAGES, QUESTION, REPLY, event, served
from tests.support.processes import listening, running

pytestmark = [pytest.mark.litellm, pytest.mark.enable_socket]
PAGE = Path(__file__).parents[2] / "docs" / "gateway-clients.md"
STARTS = 400  # seconds that the proxy may take to start
LIMIT = 3.0  # seconds, as the page says
WORDS = "Ask us by telephone."
ODD = "1871, „{x}“ %s & <b>so</b>\u00a0on \U0001f56f"
UNSURE = REPLY.replace("Consistent", "Insufficient").replace("90%", "40%")
REPLIES = {
    "answer": REPLY,
    "odd": REPLY.replace("Answer: 1871", f"Answer: {ODD}"),
    "abstain": UNSURE,
    "unread": "Polly wants no form.",
    "tools": REPLY,
    "document": REPLY,
    "bare": REPLY,
    "restarted": REPLY,
    "hung": REPLY,
    "away": REPLY,
    "back": REPLY,
}
SETTINGS = """
[upstreams.main]
url = "http://127.0.0.1:9/v1"
[texts]
abstain = "{words}"
unread = "{words}"
[models.support]
upstream = "main"
name = "llama"
[models.support.policy]
insufficient = "abstain"
[keys.proxy]
sha256 = ["{digest}"]
scopes = ["score"]
"""


CLIENT = """
import json, openai, sys
address, key, given = sys.argv[1:]
client = openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)
try:
    told = client.chat.completions.create(**json.loads(given))
    if hasattr(told, "choices"):
        print(told.choices[0].message.content)
    else:
        print("".join(c.choices[0].delta.content or "" for c in told if c.choices))
except openai.APIError as error:
    print(type(error).__name__, error.message)
"""


class Model:
    """A server of models that replies by the situation in the system message, when it may."""

    def __init__(self):
        self.asked, self.may_reply = asyncio.Event(), asyncio.Event()
        self.may_reply.set()

    async def reply_to(self, request):
        body = await request.json()
        text = REPLIES[body["messages"][0]["content"]]
        self.asked.set()
        await self.may_reply.wait()
        base = {"id": "chatcmpl-1", "created": 1, "model": "llama"}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
            whole = base | {"object": "chat.completion", "choices": [choice], "usage": usage}
            return web.json_response(whole)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in [*(text[i : i + 3] for i in range(0, len(text), 3)), None]:
            delta = {} if piece is None else {"role": "assistant", "content": piece}
            choice = {"index": 0, "delta": delta, "finish_reason": None if piece else "stop"}
            chunk = base | {"object": "chat.completion.chunk", "choices": [choice]}
            await response.write(event(chunk))
        await response.write(b"data: [DONE]\n\n")
        return response


def messages(situation):
    parts = [{"type": "text", "text": text} for text in PASSAGES]
    question = {"type": "text", "text": QUESTION}
    call = {"id": "t1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    said = {
        "tools": [
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            *({"role": "tool", "tool_call_id": "t1", "content": text} for text in PASSAGES),
        ],
        "document": [
            {
                "role": "user",
                "content": [*parts, {"type": "document", "text": "A third."}, question],
            }
        ],
        "bare": [{"role": "user", "content": QUESTION}],
    }.get(situation, [{"role": "user", "content": [*parts, question]}])
    return [{"role": "system", "content": situation}, *said]


class Proxy:
    """A client of the proxy that tells what its user would see."""

    def __init__(self, session, key):
        self._session, self._key = session, key

    async def by_openai(self, situation, *, stream):
        """Ask by OpenAI's own client; return what it shows or raises."""
        given = {"model": "llama", "messages": messages(situation), "stream": stream}
        process = await asyncio.create_subprocess_exec(
            os.environ["NOVARAG_LITELLM"], "-c", CLIENT, str(self._session._base_url), self._key,
            json.dumps(given), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()[-2000:]
        return out.decode().strip()

    async def ask(self, situation, *, stream):
        body = {"model": "llama", "messages": messages(situation), "stream": stream}
        headers, began = {"Authorization": f"Bearer {self._key}"}, time.monotonic()
        async with self._session.post("/v1/chat/completions", json=body, headers=headers) as reply:
            raw = await reply.text()
        told = {"status": reply.status, "raw": raw, "seconds": time.monotonic() - began}
        if reply.status != 200:
            return told | {"error": json.loads(raw)["error"]}
        if not stream:
            return told | {"text": json.loads(raw)["choices"][0]["message"]["content"]}
        data = [line[6:] for line in raw.split("\n") if line.startswith("data: ")]
        chunks = [json.loads(one) for one in data[:-1]]
        pieces = [c["delta"].get("content") or "" for k in chunks for c in k["choices"]]
        return told | {"text": "".join(pieces), "last": data[-1], "pieces": pieces}


@contextmanager
def proxy_process(work, model_url, gateway_url, variables):
    """Start the proxy with the lines of the page, but for the addresses."""
    python = os.environ.get("NOVARAG_LITELLM")
    if not python:
        pytest.fail("NOVARAG_LITELLM names no Python with tests/real/litellm.txt")
    (lines,) = re.findall(r"```yaml\n(model_list:.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    for named, real in (
        ("http://gpu-1:8000/v1", model_url),
        ("http://127.0.0.1:8080", gateway_url),
    ):
        assert lines.count(named) == 1
        lines = lines.replace(named, real)
    (work / "litellm.yaml").write_text(lines, "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [str(Path(python).parent / "litellm"), "--config", str(work / "litellm.yaml")]
    known = {"PATH": os.environ["PATH"], "HOME": str(work), "NO_PROXY": "127.0.0.1"}
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "DO_NOT_TRACK": "1", "GPU_KEY": "none"}
    with (work / "proxy.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", port, "--telemetry", "False"],
            env=known | quiet | variables, cwd=work, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)


async def started(process, session, log):
    end = time.monotonic() + STARTS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text("utf-8")[-3000:]
        with suppress(aiohttp.ClientError):
            async with session.get("/health/liveliness") as reply:
                if reply.status == 200:
                    return
        await asyncio.sleep(0.5)
    pytest.fail(f"the proxy did not start in {STARTS} s: {log.read_text('utf-8')[-3000:]}")


class Gateways:
    """One gateway after another at the same address."""

    def __init__(self, work, key):
        self.path, self.socket, self._stack = work / "gateway.toml", listening(), ExitStack()
        self._address = self.socket.getsockname()
        text = SETTINGS.format(words=WORDS, digest=hash_key(key).hex())
        self.path.write_text(text, "utf-8")
        self.url = f"http://127.0.0.1:{self._address[1]}"

    async def start(self, session):
        if self.socket.fileno() < 0:
            self.socket = socket.create_server(self._address)
        command = ["novarag", "gateway", "serve", self.path, "--fd", "{fd}"]
        self.process = self._stack.enter_context(running(command, at=self.socket)).process
        while True:
            with suppress(aiohttp.ClientError):
                async with session.get(f"{self.url}/readyz") as reply:
                    if reply.status == 200:
                        return
            await asyncio.sleep(0.1)

    def stop(self, *, away=False):
        self._stack.close()
        if away:
            self.socket.close()


async def meanwhile(proxy, model, situation, act, *, stream):
    """Ask, and do something to the gateway while the model thinks."""
    model.asked.clear()
    model.may_reply.clear()
    task = asyncio.create_task(proxy.ask(situation, stream=stream))
    await model.asked.wait()
    await act()
    began = time.monotonic()
    model.may_reply.set()
    return await task | {"seconds": time.monotonic() - began}


async def play(proxy, model, gateways, session):
    """Ask all that there is to ask; return what the user saw, by situation and stream."""

    async def restart():
        gateways.stop()
        await gateways.start(session)

    async def hang():
        gateways.process.send_signal(signal.SIGSTOP)

    async def end():
        gateways.stop(away=True)

    plain = ("answer", "odd", "abstain", "unread", "tools", "document", "bare")
    seen = {}
    for stream in (False, True):
        for one in ("answer", "abstain"):
            seen["openai", one, stream] = await proxy.by_openai(one, stream=stream)
        await proxy.ask("answer", stream=stream)  # the first of a kind loads modules
        for one in plain:
            seen[one, stream] = await proxy.ask(one, stream=stream)
        seen["restarted", stream] = await meanwhile(
            proxy, model, "restarted", restart, stream=stream
        )
        seen["hung", stream] = await meanwhile(proxy, model, "hung", hang, stream=stream)
        gateways.process.send_signal(signal.SIGCONT)
        seen["away", stream] = await meanwhile(proxy, model, "away", end, stream=stream)
        seen["gone", stream] = await proxy.ask("away", stream=stream)
        await gateways.start(session)
        seen["back", stream] = await proxy.ask("back", stream=stream)
    return seen


async def story(work):
    key, master = f"nvr_{secrets.token_hex(16)}", f"sk-{secrets.token_hex(24)}"
    variables = {"NOVARAG_AUTHORIZATION": f"Bearer {key}", "LITELLM_MASTER_KEY": master}
    model, gateways = Model(), Gateways(work, key)
    try:
        async with served(model) as model_url:
            with proxy_process(work, model_url, gateways.url, variables) as (process, url):
                async with aiohttp.ClientSession(url) as session:
                    await gateways.start(session)
                    await started(process, session, work / "proxy.log")
                    seen = await play(Proxy(session, master), model, gateways, session)
    finally:
        gateways.stop()
        gateways.socket.close()
    return seen, (work / "proxy.log").read_text("utf-8"), key


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return asyncio.run(story(tmp_path_factory.mktemp("litellm")))


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def seen(told, request):
    """What the user saw, by situation."""
    whole = {key: found for key, found in told[0].items() if key[-1] is request.param}
    return {key[0]: found for key, found in whole.items() if len(key) == 2}


@pytest.mark.parametrize(
    ("situation", "text"), [("answer", "1871"), ("odd", ODD), ("tools", "1871"), ("back", "1871")]
)
def test_an_answer_is_shown_alone_and_soon(seen, situation, text):
    found = seen[situation]
    assert (found["status"], found.get("text")) == (200, text), found
    assert found.get("last", "[DONE]") == "[DONE]"
    assert found["seconds"] < LIMIT


def test_what_is_withheld_is_an_error_with_the_operators_words(seen):
    for situation in ("abstain", "unread"):
        found = seen[situation]
        assert (found["status"], found["error"]["code"]) == (400, "400"), found
        assert found["error"]["message"].startswith(f"{WORDS} (abstain: ")


@pytest.mark.parametrize(
    ("situation", "why"),
    [
        ("bare", "there are no passages"),
        ("document", "the proxy has left out parts of the messages"),
        ("restarted", "this call is not known here"),
    ],
)
def test_what_cannot_be_scored_is_an_error_that_says_why(seen, situation, why):
    found = seen[situation]
    assert found["status"] == 400, found
    assert found["error"]["message"].startswith(f"no confidence: {why}")


@pytest.mark.parametrize("situation", ["hung", "away", "gone"])
def test_a_gateway_that_hangs_or_is_away_is_an_error_in_time(seen, situation):
    found = seen[situation]
    assert (found["status"], found["error"]["code"]) == (500, "500"), found
    assert found["error"]["message"].startswith("Generic Guardrail API failed: ")
    assert found["seconds"] < LIMIT + 3  # the proxy gives up at the limit; the machine is shared


@pytest.mark.parametrize("stream", [False, True])
def test_openais_own_client_shows_the_answer_and_raises_what_is_withheld(told, stream):
    found = told[0]
    assert found["openai", "answer", stream] == "1871"
    kind, _, words = found["openai", "abstain", stream].partition(" ")
    assert kind == "BadRequestError"
    assert WORDS in words


def test_no_reply_that_was_not_passed_reaches_the_client(seen):
    for situation, found in seen.items():
        if "error" in found:
            for piece in ("1871", "Group Judgment", "Confidence:", "Polly", "[DONE]"):
                assert piece not in found["raw"], (situation, piece)
        else:
            assert "Group Judgment" not in found["raw"]
    assert len([found for found in seen.values() if "error" in found]) == 8


def test_the_key_of_the_gateway_is_nowhere(told):
    seen, log, key = told
    assert key not in log
    assert key not in str(seen)
