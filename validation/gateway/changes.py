"""Restarts and reloads under load, and every route in every mode."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support.audited import VARIABLE
from tests.support.processes import Running, until_ready
from tests.support.raw_client import RawClient, request
from validation.gateway.harness import (
    KEY,
    NOWHERE,
    PLAIN,
    Upstream,
    answers,
    asked,
    gateway,
    now,
    rows,
    settings,
    tell,
)


async def restarts(folder: Path, count: int = 50, rate: float = 100) -> bool:
    """Restart behind a kept socket while requests come: none fails."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    found: Counter[str] = Counter()
    async with Upstream(answers) as upstream:
        path = settings(folder, upstream.url)
        path.write_text(path.read_text() + f"[listen]\nport = {port}\n")
        env = os.environ | {VARIABLE: NOWHERE, "NOVARAG_PROOF_KEY": KEY}
        command = [sys.executable, "-m", "novarag", "gateway", "serve", str(path), "--rolling"]
        with (folder / "log").open("ab") as log:
            parent = subprocess.Popen(command, env=env, stdout=log, stderr=log)  # noqa: ASYNC220
        try:
            await until_ready(Running(parent, port))
            end = asyncio.Event()
            load = asyncio.create_task(_load(port, rate, found, end))
            for number in range(count):
                before = _children(parent.pid)
                parent.send_signal(signal.SIGUSR2)
                await _until(
                    lambda before=before: (
                        _children(parent.pid) - before and not before & _children(parent.pid)
                    )
                )
                print(f"     restart {number + 1}: {dict(found)}", flush=True)
            end.set()
            await load
        finally:
            parent.send_signal(signal.SIGTERM)
            parent.wait(60)
    figures = {
        "restarts": count,
        "rate": f"{rate:g}/s",
        "replies": dict(found),
        "rows": len(rows(folder)),
    }
    holds = set(found) == {"200"} and len(rows(folder)) == sum(found.values())
    return tell("rolling restarts", figures, holds=holds)


async def _until(holds: Any, seconds: float = 60) -> None:
    end = now() + seconds
    while not holds():
        if now() > end:
            raise TimeoutError("it never came to hold")
        await asyncio.sleep(0.05)


def _children(pid: int) -> set[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8")
    return set(map(int, found.split()))


async def _load(port: int, rate: float, found: Counter[str], end: asyncio.Event) -> None:
    idle: list[RawClient] = []
    tasks: set[asyncio.Task[None]] = set()

    async def one(number: int) -> None:
        client = idle.pop() if idle else RawClient(port)
        try:
            reply = await client.send(request(asked(stream=bool(number % 2))))
            found[str(reply.status) if reply.whole else "cut"] += 1
            idle.append(client)
        except (OSError, EOFError) as error:
            found[type(error).__name__] += 1

    began, number = now(), 0
    while not end.is_set():
        await asyncio.sleep(max(0.0, began + number / rate - now()))
        task = asyncio.create_task(one(number))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += 1
    await asyncio.gather(*tasks)
    for client in idle:
        client.close()


async def reloads(folder: Path, count: int = 1_000) -> bool:
    """Reload under load: what a reply does, says and leaves in the audit is of one version."""
    words, wrong, seen = {}, Counter[str](), SimpleNamespace(replies=0, settings={})
    async with Upstream(answers) as upstream:
        path = settings(folder, upstream.url, tail='[texts]\nabstain = "version 0"\n')
        text = path.read_text().replace(
            'name = "llama"\n[models.live]',
            'name = "llama"\n[models.held.policy]\nconsistent = "abstain"\n[models.live]',
        )
        path.write_text(text)
        async with gateway(path) as served:
            end = asyncio.Event()

            async def ask() -> None:
                client = RawClient(served.port)
                while not end.is_set():
                    reply = await client.send(request(asked()))
                    body = reply.json()
                    verdict, shown = body["novarag"], body["choices"][0]["message"]["content"]
                    seen.replies += 1
                    seen.settings[verdict["id"]] = verdict["settings"]
                    if words.setdefault(verdict["settings"], shown) != shown:
                        wrong["a reply"] += 1
                    if reply.headers["x-novarag-id"] != verdict["id"]:
                        wrong["a header"] += 1
                client.close()

            tasks = [asyncio.create_task(ask()) for _ in range(4)]
            for number in range(1, count + 1):
                fresh = folder / "fresh.toml"
                fresh.write_text(text.replace("version 0", f"version {number}"))
                fresh.replace(path)
                before = seen.replies
                served.process.send_signal(signal.SIGHUP)
                await _until(lambda before=before: seen.replies > before + 1)
            end.set()
            await asyncio.gather(*tasks)
            alive = served.alive()
    kept = rows(folder)
    wrong["the audit"] += sum(seen.settings.get(row["id"]) != row["settings"] for row in kept)
    doubled = len(words) - len(set(words.values()))
    figures = {
        "reloads": count, "replies": seen.replies, "versions seen": len(words), "rows": len(kept),
        "mixed": sum(wrong.values()) + doubled,
    }  # fmt: skip
    holds = (
        alive
        and not sum(wrong.values())
        and not doubled
        and len(kept) == seen.replies
        and len(words) > count / 2
    )
    return tell("reloads", figures, holds=holds)


async def routes(folder: Path, count: int = 50) -> bool:
    """Ask every route, as a stream and not: each reply has its decision, and its row equals it."""
    score = {
        "model": "held",
        "question": "When?",
        "passages": ["In 1871."],
        "answer": "1871",
        "confidence": 0.7,
    }
    kinds = {
        f"{model} {'stream' if stream else 'whole'} {name}": (request(body | {"model": model, "stream": stream}), name)
        for model in ("held", "live") for stream in (False, True)
        for name, body in (("ours", asked()), ("passed", PLAIN))
    } | {"score": (request(score, path="/v1/score"), "ours")}  # fmt: skip
    wrong: Counter[str] = Counter()
    decided: dict[str, str] = {}
    async with Upstream(answers) as upstream, gateway(settings(folder, upstream.url)) as served:
        client = RawClient(served.port)
        for _ in range(count):
            for kind, (content, name) in kinds.items():
                reply = await client.send(content)
                want = "none" if name == "passed" else "answer"
                said = reply.headers.get("x-novarag-decision")
                if said is None and b'"decision":"answer"' in reply.body:
                    said = "answer"
                wrong[kind] += reply.status != 200 or said != want
                decided[reply.headers.get("x-novarag-id", str(len(decided)))] = want
        client.close()
    kept = rows(folder)
    names = Counter(row["decision"] for row in kept)
    wrong["rows"] += sum(
        row["id"] in decided and decided[row["id"]] != row["decision"] for row in kept
    )
    wrong["rows"] += names != Counter(decided.values())
    figures = {
        "kinds": len(kinds),
        "requests": count * len(kinds),
        "wrong": sum(wrong.values()),
        "rows": dict(names),
    }
    return tell("every route", figures, holds=not sum(wrong.values()))
