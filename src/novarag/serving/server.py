"""A server: started as a process and watched, asked what it serves and how it renders a sample.

It has a process group of its own. SIGKILL to vLLM alone would orphan its engine, so signals go to
the whole group.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import orjson

from novarag.calls import CallError, Outcome
from novarag.errors import ServiceError, UsageError
from novarag.prose import say
from novarag.serving.templates import first_difference
from novarag.texts import plain_text
from novarag.web.endpoint import parse_endpoint
from novarag.web.sending import Patience, Sender

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from novarag.serving.models import RenderedSample
    from novarag.serving.options import ServingTimes
    from novarag.serving.templates import Spell
    from novarag.web.endpoint import Endpoint

_QUICK = Patience(concurrency=1, timeout=60.0, attempts=4)


async def check_server(
    url: str,
    names: Sequence[str],
    samples: Sequence[RenderedSample],
    *,
    spell: Spell,
    key_env: str | None = None,
) -> int:
    """Refuse a server that lacks a name, or whose tokens are not training's.

    Return how many tokens were compared for each name.
    """
    root = url.strip().rstrip("/").removesuffix("/v1")
    endpoint = parse_endpoint(f"{root}={names[0]}", key_env=key_env, url_path="")
    async with Sender([endpoint], "/tokenize", patience=_QUICK) as sender:
        served = await _served(sender, endpoint)
        missing = [name for name in names if name not in served]
        if missing:
            shown = ", ".join(plain_text(name, longest=60) for name in served[:8])
            raise UsageError.saying(
                "{} serves {}, not {}; start it with the command that `serving_plan(...)` gives",
                root,
                shown or "nothing",
                missing[0],
            )
        for name in names:
            for sample in samples:
                await _check_tokens(sender, name, sample, spell)
    return sum(len(sample.tokens) for sample in samples)


async def _served(sender: Sender, endpoint: Endpoint) -> list[str]:
    status, content = await sender.get(endpoint, "/v1/models")
    if status in {401, 403}:
        raise CallError(
            Outcome.DENIED,
            f"{endpoint.url} says HTTP {status}; is the key in {endpoint.variable} right?",
        )
    try:
        said = sender.secrets.redact_tree(orjson.loads(content))
        return [str(row["id"]) for row in said["data"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{endpoint.url} lists no models (HTTP {status}); is it vLLM?") from None


async def _check_tokens(sender: Sender, name: str, sample: RenderedSample, spell: Spell) -> None:
    body = {
        "model": name,
        "messages": [{"role": "user", "content": sample.prompt}],
        "add_generation_prompt": True,
        "return_token_strs": True,
    }
    (tokens, spelt), _ = await sender.post(orjson.dumps(body), _read_tokens)
    found = first_difference(sample.tokens, tokens)
    if found is not None:
        theirs = dict(zip(tokens, spelt, strict=False)).get
        said = found.said(
            "there",
            trained=spell,
            found=lambda t: plain_text(sender.secrets.redact(str(theirs(t, "?"))), longest=40),
        )
        raise UsageError(
            f"the server does not ask {name} as it was trained: {said}; serve it with the tokenizer"
            " and the chat template of its training"
        )


def _read_tokens(content: bytes) -> tuple[list[int], list[Any]]:
    """Read the tokens, and how the server spells them if it does."""
    try:
        reply = orjson.loads(content)
        tokens, spelt = reply["tokens"], reply.get("token_strs")
        if all(type(token) is int for token in tokens):
            return list(tokens), spelt if isinstance(spelt, list) else []
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise CallError(Outcome.REFUSED, "the server's /tokenize returns no tokens; is it vLLM?")


_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - to ask, not bind


def address(host: str, port: int) -> str:
    """Return where a server that listens at a host is asked from this machine.

    >>> address("0.0.0.0", 8000), address("::", 8000)
    ('http://127.0.0.1:8000', 'http://[::1]:8000')
    """
    asked = _EVERYWHERE.get(host, host)
    return f"http://[{asked}]:{port}" if ":" in asked else f"http://{asked}:{port}"


def is_healthy(host: str, port: int) -> bool:
    """Ask a server whether it is up; no proxy of the environment is in between."""
    server = HTTPConnection(_EVERYWHERE.get(host, host), port, timeout=5)
    try:
        server.request("GET", "/health")
        return server.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        server.close()


@contextmanager
def running(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    place: tuple[str, int],
    times: ServingTimes,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and yield once it is healthy; end it on the way out, whatever happens."""
    if is_healthy(*place):
        raise UsageError.saying(
            "another server answers at port {}; name another with `port`", place[1]
        )
    try:
        process = subprocess.Popen(  # noqa: S603 - what was printed, without a shell
            words,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError.saying(
            "{} cannot be started ({}); install vLLM, or name its command with `vllm`",
            words[0],
            error.strerror,
        ) from None
    try:
        _wait(process, place, times)
        yield process
    finally:
        stop(process, times)


def _wait(process: subprocess.Popen[bytes], place: tuple[str, int], times: ServingTimes) -> None:
    deadline = monotonic() + times.start
    while not is_healthy(*place):
        if process.poll() is not None:
            raise ServiceError(
                f"the server ended before it was up (exit code {process.returncode}); what it"
                " printed says why",
                retryable=False,
            )
        if monotonic() > deadline:
            raise ServiceError(
                say("the server is not up after {:g} s; give it longer with `wait`", times.start),
                retryable=True,
            )
        sleep(times.look)


def stop(process: subprocess.Popen[bytes], times: ServingTimes) -> None:
    """End a server and all that it started: asked first, and killed if that is not heard."""
    try:
        _signal(process, signal.SIGTERM)
        deadline = monotonic() + times.end
        while _lives(process) and monotonic() < deadline:
            sleep(min(times.look, 0.1))
    finally:  # also when somebody loses patience
        _signal(process, signal.SIGKILL)
        process.wait()


def _lives(process: subprocess.Popen[bytes]) -> bool:
    process.poll()  # a zombie would count as one of the group
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
