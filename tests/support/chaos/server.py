"""An OpenAI-compatible server that fails on purpose and keeps its own bill.

Written on bare asyncio so that it costs little beside the client it measures, and so that it can
break a reply at any byte. What it does to an attempt is drawn from (seed, request key, how often
that key came), so a run can be repeated. Start it with `python -m tests.support.chaos.server --help`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import struct
import sys
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from time import monotonic

FAULTS = ("429", "500", "hang", "reset", "truncate", "malform", "drip")
WORDS = ("Highly Relevant", "Relevant", "Irrelevant")


@dataclass
class Settings:
    """What the server does; every fault is a share of the attempts."""

    faults: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    idempotent: bool = False
    latency: float = 0.0
    rate: float | None = None  # allowed requests per second, as a token bucket
    burst: float = 1.0
    concurrent: int | None = None  # 429 above that many at once
    hang: float = 30.0
    ignore_n: bool = False
    echo_key: bool = False
    redirect: str | None = None
    refuse: int | None = None  # answer everything with this status
    structured: str = "ignore"  # what it does with a form: hold, ignore, refuse or break


@dataclass
class Bill:
    """What was served and what was not, by attempt."""

    attempts: dict[str, str] = field(default_factory=dict)
    keys: Counter = field(default_factory=Counter)  # work done, by request key
    prompt_tokens: int = 0
    completion_tokens: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    total: int = 0
    forms: int = 0  # requests that came with a form


def passages_text(prompt: str, sample: int) -> str:
    """Make passages as a noise prompt asks for them, about one in five of them unsound."""
    count = prompt.count(": [the text]")
    answer = prompt.partition("Correct answer: ")[2].partition("\n")[0]
    agrees, claims = "What is known" in prompt, "[the answer it supports]" in prompt
    lines = []
    for i in range(1, count + 1):
        luck = int(sha256(f"{prompt}{sample}{i}".encode()).hexdigest()[:8], 16)
        said = answer if agrees or luck % 5 == 0 else f"Wrong{luck % 97}"
        if luck % 5 == 1:
            said = "nothing in particular"
        told = said if claims else "the weather"
        lines.append(f"Passage {i}: Record {luck} tells of {told}, as {luck % 1013} others do too.")
        if claims:
            lines.append(f"Answer {i}: {answer if agrees else f'Wrong{luck % 97}'}")
    return "\n".join(lines)


def reply_text(prompt: str, sample: int, *, k: int = 3) -> str:
    """Make a reply that depends on the prompt and the sample alone, in the format of `nova`."""
    if ": [the text]" in prompt:
        return passages_text(prompt, sample)
    if "Proposed answer: " in prompt:
        return ("True", "False")[len(prompt) % 2]
    luck = blake2b(f"{sample} {prompt}".encode("utf-8", "replace"), digest_size=8).digest()
    if luck[0] < 5:
        return "I am not sure what to say."
    steps = "\n".join(
        f"Step {i}: passage {i} says something of number {luck[i]}." for i in range(1, k + 1)
    )
    classes = "; ".join(f"Passage {i}: {WORDS[luck[i] % 3]}" for i in range(1, k + 1))
    state = ("Conflicting", "Consistent", "Uninformative")[luck[4] % 3]
    said = (
        f"{steps}\nStep {k + 1}: the rules apply.\nPassage Classifications: {classes}\n"
        f"Group Judgment: {state}\nAnswer: {1800 + luck[5]}\nConfidence: {luck[6] % 101}%"
    )
    frames = re.findall(r"^Answer(\[[0-9a-f]{6}\]):", prompt, re.MULTILINE)
    labels = "Passage Classifications|Group Judgment|Answer|Confidence"
    return (
        re.sub(rf"^({labels}):", rf"\1{frames[-1]}:", said, flags=re.MULTILINE) if frames else said
    )


def held_text(form: str, prompt: str, sample: int) -> str:
    """Make a reply of the form that was asked for: steps if it has some, classes, a verdict."""
    luck = blake2b(f"{sample} {prompt}".encode("utf-8", "replace"), digest_size=8).digest()
    frame = next(iter(re.findall(r"Answer\\(\[[0-9a-f]{6}\\\]):", form)), "").replace("\\", "")
    steps = len(re.findall(r"Step [0-9]+: ", form))
    lines = [f"Step {i}: it says something of {luck[i % 8]}." for i in range(1, steps + 1)]
    if steps:
        classes = (f"Passage {i}: {WORDS[luck[i % 8] % 3]}" for i in range(1, steps))
        lines.append(f"Passage Classifications{frame}: {'; '.join(classes)}")
        state = ("Conflicting", "Consistent", "Insufficient")[luck[4] % 3]
        lines.append(f"Group Judgment{frame}: {state}")
    verdict = [f"Answer{frame}: {1800 + luck[5]}", f"Confidence{frame}: {luck[6] % 101}%"]
    return "\n".join([*lines, *verdict])


class Kitchen:
    """The state of the server: settings, bill, bucket."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.bill = settings, Bill()
        self.seen: Counter = Counter()
        self.tokens, self.filled = settings.burst, monotonic()
        self.held = 0  # the number of the request that waits for `/release`
        self.released = asyncio.Event()

    def fault(self, key: str) -> str | None:
        turn = self.seen[key]
        self.seen[key] += 1
        if not self.settings.faults:
            return None
        drawn = blake2b(f"{self.settings.seed} {key} {turn}".encode(), digest_size=8).digest()
        luck = int.from_bytes(drawn, "big") / 2**64
        for name, share in self.settings.faults.items():
            if luck < share:
                return name
            luck -= share
        return None

    def too_many(self) -> bool:
        limit = self.settings.concurrent
        if limit is not None and self.bill.in_flight > limit:
            return True
        if self.settings.rate is None:
            return False
        now = monotonic()
        gained = (now - self.filled) * self.settings.rate
        self.tokens, self.filled = min(self.tokens + gained, self.settings.burst), now
        if self.tokens < 1.0:
            return True
        self.tokens -= 1.0
        return False

    def serve(self, key: str, request: dict) -> bytes:
        """Do the work, put it on the bill, and return the body."""
        n = 1 if self.settings.ignore_n else request.get("n", 1)
        prompt = request["messages"][-1]["content"]
        again = self.settings.idempotent and self.bill.keys[key] > 0
        choices = []
        first = request.get("seed") or 0
        form = (request.get("structured_outputs") or {}).get("regex")
        for i in range(n):
            holds = form is not None and self.settings.structured == "hold"
            text = held_text(form, prompt, first + i) if holds else reply_text(prompt, first + i)
            choice = {
                "index": i,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
            if request.get("logprobs"):
                content = [{"token": t, "logprob": -0.5} for t in re.findall(r"\s*\S+", text)]
                if request.get("top_logprobs"):
                    content[0]["top_logprobs"] = [
                        {"token": word, "logprob": -0.5 - 0.1 * i}
                        for i, word in enumerate((content[0]["token"], "True", "False"))
                    ]
                choice["logprobs"] = {"content": content}
            choices.append(choice)
        used = {
            "prompt_tokens": len(prompt) // 4,
            "completion_tokens": sum(len(c["message"]["content"]) // 4 for c in choices),
        }
        if not again:
            self.bill.keys[key] += 1
            self.bill.prompt_tokens += used["prompt_tokens"]
            self.bill.completion_tokens += used["completion_tokens"]
        return json.dumps(
            {
                "id": "x",
                "object": "chat.completion",
                "model": request["model"],
                "choices": choices,
                "usage": used,
            }
        ).encode()


class Door(asyncio.Protocol):
    """One connection: reads requests, hands them to the kitchen, sends what comes."""

    def __init__(self, kitchen: Kitchen) -> None:
        self.kitchen, self.buffer = kitchen, b""
        self.transport: asyncio.Transport | None = None
        self.task: asyncio.Task | None = None

    def connection_made(self, transport) -> None:
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, exc) -> None:
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].decode("latin-1").split("\r\n")
            headers = {
                k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:])
            }
            size = int(headers.get("content-length", 0))
            if len(self.buffer) < end + 4 + size:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + size], self.buffer[end + 4 + size :]
            method, path, _ = head[0].split(" ", 2)
            self.handle(method, path, headers, body)

    def handle(self, method: str, path: str, headers: dict, body: bytes) -> None:
        if method == "GET":
            self.desk(path)
            return
        kitchen, settings = self.kitchen, self.kitchen.settings
        bill = kitchen.bill
        attempt = headers.get("x-request-id") or f"nameless-{bill.total}"
        key = headers.get("idempotency-key") or attempt
        bill.total += 1
        bill.in_flight += 1
        bill.most_in_flight = max(bill.most_in_flight, bill.in_flight)
        if settings.redirect:
            self.end(attempt, "redirect")
            self.send(307, b"", extra=f"Location: {settings.redirect}\r\n")
        elif settings.refuse:
            self.end(attempt, f"refuse-{settings.refuse}")
            said = headers.get("authorization", "") if settings.echo_key else "no"
            self.send(
                settings.refuse, json.dumps({"error": {"message": f"refused: {said}"}}).encode()
            )
        elif self.is_form_refused(body):
            self.end(attempt, "form")
            status = 500 if settings.structured == "break" else 400
            said = "Unrecognized request argument supplied: structured_outputs"
            self.send(status, json.dumps({"error": {"message": said}}).encode())
        elif kitchen.too_many():
            self.end(attempt, "429")
            self.send(429, b'{"error": {"message": "slow down"}}', extra="Retry-After: 1\r\n")
        elif settings.faults or settings.latency or bill.total == kitchen.held:
            fault = kitchen.fault(key)
            self.task = asyncio.get_running_loop().create_task(self.cook(attempt, key, body, fault))
        else:
            content = kitchen.serve(key, json.loads(body))
            self.end(attempt, "served")
            self.send(200, content)

    def is_form_refused(self, body: bytes) -> bool:
        if b'"structured_outputs"' not in body:
            return False
        self.kitchen.bill.forms += 1
        return self.kitchen.settings.structured in {"refuse", "break"}

    def end(self, attempt: str, how: str) -> None:
        self.kitchen.bill.in_flight -= 1
        self.kitchen.bill.attempts[attempt] = how

    async def cook(self, attempt: str, key: str, body: bytes, fault: str | None) -> None:
        settings = self.kitchen.settings
        how = "abandoned"  # the client left before anything was done
        try:
            if settings.latency:
                await asyncio.sleep(settings.latency)
            if self.kitchen.bill.total == self.kitchen.held:
                await self.kitchen.released.wait()
            if fault == "429":
                how = "429"
                self.send(
                    429, b'{"error": {"message": "slow down"}}', extra="Retry-After: 0.01\r\n"
                )
                return
            if fault == "500":
                how = "500"
                self.send(500, b'{"error": {"message": "oops"}}')
                return
            content = self.kitchen.serve(key, json.loads(body))
            how = fault or "served"
            await self.spoil(fault, content)
        finally:
            self.end(attempt, how)

    async def spoil(self, fault: str | None, content: bytes) -> None:
        match fault:
            case None:
                self.send(200, content)
            case "hang":
                await asyncio.sleep(self.kitchen.settings.hang)
                self.transport.close()
            case "reset":
                raw = self.transport.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.transport.abort()
            case "truncate":
                self.head(200, len(content))
                self.transport.write(content[: len(content) // 2])
                self.transport.close()
            case "malform":
                self.send(200, content[: len(content) // 2] + b"}{")
            case "drip":
                self.head(200, len(content))
                step = max(len(content) // 5, 1)
                for start in range(0, len(content), step):
                    self.transport.write(content[start : start + step])
                    await asyncio.sleep(0.01)
            case _:
                raise ValueError(fault)

    def desk(self, path: str) -> None:
        bill = self.kitchen.bill
        if path.startswith("/hold/"):
            self.kitchen.held = bill.total + int(path.removeprefix("/hold/"))
            self.kitchen.released.clear()
            content = {"held": self.kitchen.held}
        elif path == "/release":
            self.kitchen.released.set()
            content = {}
        elif path == "/bill":
            content = vars(bill) | {"keys": dict(bill.keys)}
        elif path == "/count":
            content = {
                "total": bill.total,
                "in_flight": bill.in_flight,
                "served": sum(bill.keys.values()),
                "distinct": len(bill.keys),
                "forms": bill.forms,
            }
        elif path.endswith("/models"):
            content = {"object": "list", "data": [{"id": "chaos", "object": "model"}]}
        else:
            self.send(404, b'{"error": {"message": "no such path"}}')
            return
        self.send(200, json.dumps(content).encode())

    def head(self, status: int, size: int, extra: str = "") -> None:
        self.transport.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n{extra}\r\n".encode()
        )

    def send(self, status: int, content: bytes, extra: str = "") -> None:
        if self.transport.is_closing():
            return
        self.transport.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{extra}\r\n".encode()
            + content
        )


async def start(settings: Settings, port: int = 0) -> tuple[asyncio.Server, Kitchen]:
    """Open the server on loopback; its port is `server.sockets[0].getsockname()[1]`."""
    kitchen = Kitchen(settings)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Door(kitchen), "127.0.0.1", port, backlog=2048)
    return server, kitchen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--fault", action="append", default=[], metavar="NAME=SHARE", help=", ".join(FAULTS)
    )
    for name in ("seed", "latency", "rate", "burst", "hang"):
        default = getattr(Settings(), name)
        parser.add_argument(f"--{name}", type=int if name == "seed" else float, default=default)
    parser.add_argument("--concurrent", type=int)
    parser.add_argument("--idempotent", action="store_true")
    kinds = ("hold", "ignore", "refuse", "break")
    parser.add_argument("--structured", choices=kinds, default="ignore")
    given = vars(parser.parse_args())
    port = given.pop("port")
    faults = {
        name: float(share) for name, _, share in (f.partition("=") for f in given.pop("fault"))
    }
    if unknown := set(faults) - set(FAULTS):
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    asyncio.run(_serve(Settings(faults=faults, **given), port))


async def _serve(settings: Settings, port: int) -> None:
    server, _ = await start(settings, port)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
