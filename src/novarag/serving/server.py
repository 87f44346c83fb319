"""A server that runs, asked what it serves and how it renders the training's sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from novarag.calls import CallError, Outcome
from novarag.errors import UsageError
from novarag.serving.templates import first_difference
from novarag.texts import plain_text
from novarag.web.endpoint import parse_endpoint
from novarag.web.sending import Patience, Sender

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.serving.models import RenderedSample
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
    endpoint = parse_endpoint(f"{root}={names[0]}", key_env=key_env, path="")
    async with Sender([endpoint], "/tokenize", patience=_QUICK) as sender:
        served = await _served(sender, endpoint)
        missing = [name for name in names if name not in served]
        if missing:
            shown = ", ".join(plain_text(name, longest=60) for name in served[:8])
            raise UsageError(
                f"{root} serves {shown or 'nothing'}, not {missing[0]}; start it with the command"
                " that `serving_plan(...)` gives"
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
