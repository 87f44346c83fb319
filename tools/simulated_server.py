"""Serve a simulated respondent like a model's server, to try a gateway with. Never a result.

Usage: python -m tools.simulated_server GROUPS [--respondent base] [--host 127.0.0.1]
    [--port 9000] [--requests FOLDER]

GROUPS is a file of `novarag train group`. With --requests it also writes a request for a gateway for
each state of evidence, such as FOLDER/conflicting.json, and ends.
"""

import argparse
import asyncio
import json
from pathlib import Path

from aiohttp import web

from novarag.calls import Sampling
from novarag.datasets.groups import load_groups
from novarag.errors import NovaragError
from novarag.grouping import evidence_state
from novarag.llm.simulated import open_simulated
from novarag.taxonomy import EvidenceState

PIECE = 12  # characters of an event, as if it were typed


class Server:
    """Chat completions of one respondent, whole or streamed."""

    def __init__(self, respondent, groups, *, delay=0.0):
        self.llm, self._delay = open_simulated(respondent, groups), delay

    def app(self):
        app = web.Application(client_max_size=10**7)
        app.router.add_post("/v1/chat/completions", self.complete)
        app.router.add_get("/v1/models", self.models)
        return app

    async def models(self, _):
        return web.json_response({"object": "list", "data": [{"id": self.llm.name}]})

    async def complete(self, request):
        body = await request.json()
        sampling = Sampling(temperature=body.get("temperature", 0.0), seed=body.get("seed"))
        try:
            reply = await self.llm.complete(str(body["messages"][-1]["content"]), sampling)
        except NovaragError as error:  # a question that it does not know
            said = {"error": {"message": str(error), "type": "invalid_request_error"}}
            return web.json_response(said, status=400)
        await asyncio.sleep(self._delay)
        text, used = reply.completions[0].text, reply.usage
        usage = {"prompt_tokens": used.prompt, "completion_tokens": used.completion}
        usage["total_tokens"] = used.prompt + used.completion
        if body.get("stream"):
            return await self._streamed(request, text, usage)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response(self._reply("chat.completion", [choice]) | {"usage": usage})

    async def _streamed(self, request, text, usage):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)]
        for piece in pieces:
            await response.write(self._event([_choice({"content": piece})]))
        await response.write(self._event([_choice({}, "stop")]))
        await response.write(self._event([], usage=usage))
        await response.write(b"data: [DONE]\n\n")
        return response

    def _event(self, choices, **more):
        chunk = self._reply("chat.completion.chunk", choices) | more
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    def _reply(self, kind, choices):
        base = {"id": "chatcmpl-simulated", "object": kind, "created": 0, "model": self.llm.name}
        return base | {"choices": choices}


def _choice(delta, finish=None):
    return {"index": 0, "delta": delta, "finish_reason": finish}


def requests(groups, model):
    """Write a request for each state of evidence: that of the first group in it."""
    found = {}
    for state in EvidenceState:
        group = next(g for g in groups if evidence_state(g) is state)
        question = [{"role": "user", "content": group.question.text}]
        passages = [{"text": p.text} for p in group.passages]
        found[str(state)] = {
            "model": model,
            "messages": question,
            "novarag": {"passages": passages},
        }
    return found


def write_requests(groups, folder, model="support"):
    for state, body in requests(groups, model).items():
        (Path(folder) / f"{state}.json").write_text(json.dumps(body, indent=1) + "\n", "utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("groups", type=Path)
    parser.add_argument("--respondent", default="base")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--requests", type=Path)
    given = parser.parse_args(arguments)
    groups = load_groups(given.groups)
    if given.requests is not None:
        write_requests(groups, given.requests)
        return
    server = Server(given.respondent, groups)
    web.run_app(server.app(), host=given.host, port=given.port, print=None)


if __name__ == "__main__":
    main()
