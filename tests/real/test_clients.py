"""Nine real clients before a gateway: what each can see is seen, and no answer is harmed.

`make test-clients` installs them: NOVARAG_CLIENTS is a folder with an environment of Python
(`venv`) and one of Node (`node`).
"""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest
from aiohttp import web

import novarag
from tests.real.clients.cases import (
    ABSTAINED,
    ANSWER,
    CASES,
    CLIENTS,
    HELLO,
    NODE,
    SITUATIONS,
    SYSTEM,
    UNREAD,
    judge,
)
from tests.support.gateways import REPLY, event, framed, gateway_at, served

pytestmark = [pytest.mark.clients, pytest.mark.enable_socket]
HERE = Path(__file__).parent / "clients"
PATIENCE = 120  # seconds, for all cases of one client

SETTINGS = """
[listen]
port = 0
[upstreams.main]
url = "{url}"
failures = 100000
[texts]
abstain = "{abstained}"
unread = "{unread}"
[models.enforce]
upstream = "main"
name = "llama"
[models.enforce.policy]
insufficient = "abstain"
[models.annotate]
upstream = "main"
name = "llama"
mode = "annotate"
[models.annotate.policy]
insufficient = "abstain"
"""
UNSURE = REPLY.replace("Consistent", "Insufficient").replace("90%", "40%")


class Scripted:
    """A server of models that replies by what it is asked, in pieces of three characters."""

    async def reply_to(self, request):
        body = await request.json()
        prompt = body["messages"][-1]["content"]
        situation = next(n for n, told in SITUATIONS.items() if told.question in str(prompt))
        if situation == "full":
            return web.json_response({"error": {}}, status=429, headers={"Retry-After": "7"})
        text = framed(self.text(situation, body), str(prompt))
        if body.get("stream"):
            return await self.streamed(request, text, cut=situation == "cut")
        if situation == "cut":
            request.transport.abort()
            return web.Response()
        return web.json_response(self.whole(text))

    def text(self, situation, body):
        if situation == "system":
            kept = {"role": "system", "content": SYSTEM} in body["messages"]
            return REPLY if kept else REPLY.replace("1871", "the system message was lost")
        return {
            "odd text": REPLY.replace("Answer: 1871", f"Answer: {ANSWER}"),
            "abstain": UNSURE, "unread": "Polly wants no form.", "passed on": HELLO,
        }.get(situation, REPLY)  # fmt: skip

    base = {"id": "chatcmpl-1", "created": 1, "model": "llama"}  # noqa: RUF012
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}  # noqa: RUF012

    def whole(self, text):
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        told = {"object": "chat.completion", "choices": [choice], "usage": self.usage}
        return self.base | told

    async def streamed(self, request, text, *, cut):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for i in range(0, len(text), 3):
            delta = {"role": "assistant", "content": text[i : i + 3]}
            await response.write(self.chunk(delta))
        if cut:  # the answer's line was whole, so a live answer is on the screen by now
            await asyncio.sleep(0.05)
            request.transport.abort()
            return response
        await response.write(self.chunk({}, "stop"))
        await response.write(b"data: [DONE]\n\n")
        return response

    def chunk(self, delta, finish=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event(self.base | {"object": "chat.completion.chunk", "choices": [choice]})


def _installed():
    folder = Path(os.environ.get("NOVARAG_CLIENTS", "build/clients")).resolve()
    if not (folder / "venv").is_dir() or not (folder / "node" / "node_modules").is_dir():
        pytest.fail(f"there are no clients at {folder}: make test-clients installs them")
    return folder


def _command(client, clients, work):
    kind, script = CLIENTS[client].command
    if kind == NODE:  # modules are looked for beside the file
        for name in (script, "driving.mjs"):
            shutil.copy(HERE / name, clients / "node" / name)
        return ["node", str(clients / "node" / script)]
    return [str(clients / "venv" / "bin" / "python"), str(HERE / script)]


async def _drive(client, clients, address, work):
    """Run all cases of one client in one process; return what its user saw, by case."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(work), "PYTHONPATH": str(work / "package"),
        "PYTHONDONTWRITEBYTECODE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False",
        "DO_NOT_TRACK": "1", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        *_command(client, clients, work), address, str(work / "cases.json"),
        env=environment, cwd=work,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, err.decode()[-3000:]
    return {told["name"]: told for told in json.loads(out)}


async def _all(work, names=tuple(CLIENTS)):
    clients = _installed()
    (work / "cases.json").write_text(json.dumps([case.asked() for case in CASES]), "utf-8")
    (work / "package").mkdir()
    (work / "package" / "novarag").symlink_to(Path(novarag.__file__).parent)
    async with served(Scripted()) as url:
        path = work / "gateway.toml"
        path.write_text(SETTINGS.format(url=url, abstained=ABSTAINED, unread=UNREAD), "utf-8")
        async with gateway_at(path) as gateway:
            address = f"http://127.0.0.1:{gateway.port}/v1"
            found = [await _drive(client, clients, address, work) for client in names]
    return dict(zip(names, found, strict=True))


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the users of all clients saw."""
    return asyncio.run(_all(tmp_path_factory.mktemp("clients")))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_client_can_see_is_seen_and_the_answer_is_whole(seen, client, case):
    assert judge(client, case, seen[client][case.name]) == []


def test_there_are_enough_cases(seen):
    assert sum(len(told) for told in seen.values()) == len(CASES) * len(CLIENTS) >= 60


def test_a_live_answer_that_breaks_off_was_on_the_screen(seen):
    """Else the cases of a stream that is cut off would show nothing."""
    cut = next(c for c in CASES if (c.situation, c.stream, c.mode) == ("cut", True, "annotate"))
    assert seen["openai-py"][cut.name]["text"] == "1871"


HARM = {
    "a field of ours on the screen": lambda text: text + ' {"novarag": {}}',
    "a lost character": lambda text: text[:-1],
    "a changed space": lambda text: text.replace(" ", "\u00a0") + " ",
}


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("stream", [False, True])
def test_a_harmed_text_is_noticed(tmp_path, monkeypatch, harm, stream):
    """The same cases with a gateway that harms its texts: each client's case must fail."""
    from novarag.gateway.http import chat

    whole = chat.choose_text
    monkeypatch.setattr(chat, "choose_text", lambda *given: HARM[harm](whole(*given)))
    found = asyncio.run(_all(tmp_path, ("curl",)))["curl"]
    case = next(c for c in CASES if (c.situation, c.stream, c.mode) == ("odd text", stream, "enforce"))  # fmt: skip
    assert len(judge("curl", case, found[case.name])) == 1
