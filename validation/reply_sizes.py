"""What a reply can cost us: hostile sizes and shapes, in memory and processor time.

Usage: python -m validation.reply_sizes. Each attack meets a client in a process of its own, which
asks as many times at once as is said; printed are what came of it, its peak memory with the
interpreter's own, and the processor time from the first request on.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEMORY, PROCESSOR = 250.0, 0.5  # MB and seconds that an attack may take
LARGE = 60_000_000
SAMPLINGS = (
    {}, {"n": 16}, {"n": 16, "max_tokens": 2048}, {"logprobs": True, "alternatives": 20, "n": 4},
)  # fmt: skip


@dataclass(frozen=True)
class Attack:
    """What the server answers: the head beside the length, and the body in pieces."""

    head: str
    body: Callable[[], bytes]
    status: int = 200
    chunked: bool = False


def _reply(choices: bytes) -> bytes:
    return b'{"choices": [' + choices + b"]}"


def _message(content: bytes) -> bytes:
    return _reply(b'{"message": {"content": "' + content + b'"}}')


@cache
def _packed() -> bytes:
    return gzip.compress(_message(b"x" * LARGE))


def _many(choice: bytes) -> bytes:
    return _reply(b",".join([choice] * 1_500_000))


ATTACKS = {
    "one content of 60 MB": Attack("", lambda: _message(b"x" * LARGE)),
    "60 MB of unknown length": Attack("", lambda: _message(b"x" * LARGE), chunked=True),
    "60 MB and an emoji": Attack("", lambda: _message(b"\xf0\x9f\x98\x80" + b"x" * LARGE), chunked=True),
    "15 MB and an emoji": Attack("", lambda: _message(b"\xf0\x9f\x98\x80" + b"x" * 15_000_000)),
    "a parcel that unfolds to 60 MB": Attack("Content-Encoding: gzip\r\n", _packed),
    "1.5 M empty choices": Attack("", lambda: _many(b"{}")),
    "1.5 M choices without content": Attack("", lambda: _many(b'{"message":{}}')),
    "1.5 M lists": Attack("", lambda: _many(b"[]")),
    "4 M numbers": Attack("", lambda: _reply(b",".join([b"1.5"] * 4_000_000))),
    "1 M strings": Attack("", lambda: _reply(b",".join([b'"ab"'] * 1_000_000))),
    "100,000 lists in each other": Attack("", lambda: b"[" * 100_000 + b"]" * 100_000),
    "900 objects in each other": Attack("", lambda: b'{"choices":' * 900 + b"1" + b"}" * 900),
    "nested, with half an emoji": Attack("", lambda: b'["\\ud83d",' + b"[" * 100_000),
    "a refusal of 60 MB": Attack("", lambda: b'{"error": "' + b"x" * LARGE + b'"}', status=400),
    "a refusal of 1.5 M objects": Attack("", lambda: _many(b"{}"), status=400),
    "a refusal nested 900 deep": Attack("", lambda: b'{"error":' + b"[" * 900 + b"]" * 900 + b"}", status=400),
}  # fmt: skip


def _serving(attack: Attack) -> Callable[..., object]:
    body = attack.body()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(size)
            length = (
                "Transfer-Encoding: chunked" if attack.chunked else f"Content-Length: {len(body)}"
            )
            writer.write(f"HTTP/1.1 {attack.status} X\r\n{attack.head}{length}\r\n\r\n".encode())
            for start in range(0, len(body), 1 << 16):
                piece = body[start : start + (1 << 16)]
                writer.write(
                    f"{len(piece):x}\r\n".encode() + piece + b"\r\n" if attack.chunked else piece
                )
                await writer.drain()
            if attack.chunked:
                writer.write(b"0\r\n\r\n")
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return serve


async def suffer(
    attack: Attack, sampling: dict[str, object], *, together: int
) -> dict[str, object]:
    """Serve one attack to a client in another process; return what it says of itself."""
    server = await asyncio.start_server(_serving(attack), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = json.dumps({"port": port, "sampling": sampling, "together": together})
    command = [sys.executable, "-m", "validation.reply_sizes", "--client", settings]
    client = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    said, _ = await client.communicate()
    server.close()
    return json.loads(said) if client.returncode == 0 else {"outcomes": [], "mb": 0.0, "s": 0.0}


async def client(port: int, sampling: dict[str, object], together: int) -> dict[str, object]:
    """Ask so many times at once; return what became of it, peak memory and processor time."""
    from novarag import CallError, ChatLLM, Patience, Sampling
    from novarag.llm import parse_endpoint

    began = process_time()
    endpoint = parse_endpoint(f"http://127.0.0.1:{port}=m")
    async with ChatLLM([endpoint], patience=Patience(attempts=1, timeout=60)) as llm:
        asked = (llm.complete("hello", Sampling(**sampling)) for _ in range(together))
        replies = await asyncio.gather(*asked, return_exceptions=True)
    took = process_time() - began
    outcomes = [str(r.outcome) if isinstance(r, CallError) else repr(r)[:60] for r in replies]
    return {"outcomes": sorted(set(outcomes)), "mb": _peak(), "s": round(took, 3)}


def _peak() -> float:
    """Return the peak memory of this process in MB; `ru_maxrss` begins with that of its parent."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))


def cases() -> Iterator[tuple[str, dict[str, object], int]]:
    """List attack, sampling and how many at once."""
    for name in ATTACKS:
        for sampling in SAMPLINGS:
            for together in (1, 6):
                yield name, sampling, together


def main() -> None:
    if sys.argv[1:2] == ["--client"]:
        print(json.dumps(asyncio.run(client(**json.loads(sys.argv[2])))))
        return
    worst, bad = {"mb": 0.0, "s": 0.0}, 0
    for name, sampling, together in cases():
        found = asyncio.run(suffer(ATTACKS[name], sampling, together=together))
        typed = found["outcomes"] in (
            ["malformed reply"],
            ["request refused"],
            ["incomplete reply"],
        )
        each = found["s"] / together
        good = typed and found["mb"] <= MEMORY and each <= PROCESSOR
        bad += not good
        worst = {"mb": max(worst["mb"], found["mb"]), "s": max(worst["s"], each)}
        asked = json.dumps(sampling)
        print(f"{'' if good else 'BAD '}{name}, {together} at once, {asked}: {found}", flush=True)
    print(
        f"worst: {worst['mb']:.0f} MB, {worst['s']:.2f} CPU-s a request; {bad} cases out of bounds"
    )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
