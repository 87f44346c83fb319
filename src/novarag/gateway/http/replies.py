"""What clients get: bodies, chunks, headers and errors, in OpenAI's shapes with our object."""

from __future__ import annotations

import time
from os import urandom
from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.http.sse import DONE, write_event
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.calls import Usage
    from novarag.gateway.decisions import PolicyDecision
    from novarag.gateway.http.requests import ParsedQuestion
    from novarag.gateway.settings import ReplyTexts

_HEADERS = tuple(
    (f"x-novarag-{name}".encode(), name) for name in ("id", "confidence", "decision", "evidence")
)
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))  # of a UUID
_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
    404: "not_found_error", 405: "invalid_request_error", 408: "invalid_request_error",
    413: "invalid_request_error", 429: "rate_limit_error",
}  # fmt: skip


def draw_id(now: float | None = None) -> str:
    """Draw an id that holds its time (UUID version 7), so that feedback finds its day."""
    millis = f"{int((time.time() if now is None else now) * 1000):012x}"
    drawn = urandom(10).hex()
    variant = _VARIANT[drawn[3]]
    return f"{millis[:8]}-{millis[8:]}-7{drawn[:3]}-{variant}{drawn[4:7]}-{drawn[8:]}"


def make_verdict(
    identity: str, asked: ParsedQuestion, made: PolicyDecision, version: str
) -> dict[str, Any]:
    """Write the object that tells what an answer is worth; the text of the reply has the answer."""
    told: dict[str, Any] = {**made.answer.to_dict(asked.given, made.shown)}
    del told["answer"]
    return {**told, "id": identity, "settings": version}


def choose_text(made: PolicyDecision, texts: ReplyTexts) -> str:
    """Return what the user reads: the answer alone, or the operator's words."""
    if made.text is not None:
        return made.text
    if made.answer.decision == "clarify":
        return texts.clarify
    return texts.unread if made.answer.answer is None else texts.abstain


def make_verdict_headers(judged: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """Write the headers that repeat the verdict, for clients that drop what they do not know."""
    return [
        (header, str(value).encode("ascii", "replace"))
        for header, name in _HEADERS
        if (value := judged[name]) is not None
    ]


def make_passed_headers(reason: str) -> list[tuple[bytes, bytes]]:
    """Write the headers of what was passed on as it came, which say so."""
    return [(b"x-novarag-decision", b"none"), (b"x-novarag-reason", reason.encode("ascii"))]


def write_completion(model: str, text: str, judged: dict[str, Any], usage: Usage | None) -> bytes:
    """Write a chat completion."""
    content = {
        "id": f"chatcmpl-{judged['id']}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": _count_tokens(usage),
        "novarag": judged,
    }
    return orjson.dumps(content)


def _count_tokens(usage: Usage | None) -> dict[str, int]:
    prompt, reply = (0, 0) if usage is None else (usage.prompt, usage.completion)
    return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}


class ChunkWriter:
    """The events of one streamed completion."""

    def __init__(self, model: str, identity: str, *, usage: bool) -> None:
        self._usage = usage
        self._base = {
            "id": f"chatcmpl-{identity}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }

    def write_piece(self, text: str, *, first: bool = False) -> bytes:
        """Write a piece of the answer; the first names who speaks."""
        role = {"role": "assistant"} if first else {}
        return self._event({**role, "content": text}, None)

    def write_end(self, judged: dict[str, Any], usage: Usage | None) -> Iterator[bytes]:
        """Write the last chunk with the verdict, the tokens if they were asked for, and the end."""
        yield self._event({"novarag": judged}, "stop", novarag=judged)
        if self._usage:
            yield write_event({**self._base, "choices": [], "usage": _count_tokens(usage)})
        yield DONE

    def _event(self, delta: dict[str, Any], finish: str | None, **more: object) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return write_event({**self._base, "choices": [choice], **more})


def make_error(message: str, status: int, param: str | None = None) -> dict[str, Any]:
    """Write an error as OpenAI's clients read it."""
    kind = _KINDS.get(status, "server_error")
    error = {"message": plain_text(message, longest=500), "type": kind, "param": param}
    return {"error": {**error, "code": str(status)}}
