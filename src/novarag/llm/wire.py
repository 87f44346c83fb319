"""The wire format of chat completions: a request as bytes, a reply as values.

A reply is hostile text: what does not have the promised shape is malformed, never guessed at.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from novarag.calls import ONE_SAMPLE, CallError, Outcome, Sampling, Usage
from novarag.errors import UsageError
from novarag.records import Completion
from novarag.texts import replace_halves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.web.redaction import Secrets


def request_body(model: str, prompt: str, sampling: Sampling) -> bytes:
    """Write a request; what the sampling leaves open is left out."""
    content = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "n": sampling.n,
        "temperature": sampling.temperature,
        **_options(sampling),
    }
    try:
        return orjson.dumps(content)
    except TypeError:  # a lone surrogate, which is no text that a wire can carry
        content["messages"] = [{"role": "user", "content": replace_halves(prompt)}]
        return orjson.dumps(content)


def _options(sampling: Sampling) -> dict[str, object]:
    options: dict[str, object] = {}
    if sampling.top_p is not None:
        options["top_p"] = sampling.top_p
    if sampling.max_tokens is not None:
        options["max_tokens"] = sampling.max_tokens
    if sampling.seed is not None:
        options["seed"] = sampling.seed
    if sampling.stop:
        options["stop"] = list(sampling.stop)
    if sampling.logprobs:
        options["logprobs"] = True
        options.update({"top_logprobs": sampling.alternatives} if sampling.alternatives else {})
    if sampling.schema is not None:
        shape = {"name": "reply", "strict": True, "schema": parse_schema(sampling.schema)}
        options["response_format"] = {"type": "json_schema", "json_schema": shape}
    if sampling.regex is not None:
        options["structured_outputs"] = {"regex": sampling.regex}
    return options


def parse_schema(text: str) -> dict[str, object]:
    """Read a JSON Schema, or raise `UsageError`."""
    try:
        schema = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"the schema is not JSON: {error}") from None
    if not isinstance(schema, dict):
        raise UsageError("the schema is not a JSON object")
    return schema


def read_reply(
    body: bytes, sampling: Sampling, model: str
) -> tuple[tuple[Completion, ...], Usage | None]:
    """Read the samples of a reply and what they cost."""
    check_values(body, sampling)
    try:
        content = _loads(body)
        if len(content["choices"]) > sampling.n:
            raise _other_than(sampling.n, len(content["choices"]))
        choices = sorted(content["choices"], key=_place)
        completions = tuple([_completion(choice, model) for choice in choices])
        usage = _usage(content.get("usage"))
    except (
        LookupError,
        TypeError,
        AttributeError,
        ValueError,
        ArithmeticError,
        RecursionError,
    ) as error:
        what = f"the body is no chat completion ({type(error).__name__})"
        raise CallError(Outcome.MALFORMED, what) from None
    most = sample_limit(sampling)
    if any(len(c.text) + len(c.reasoning or "") > most for c in completions):
        raise CallError(Outcome.MALFORMED, f"a sample is longer than {most:,} characters")
    if len(completions) != sampling.n:
        raise _other_than(sampling.n, len(completions))
    if sampling.logprobs and any(c.text and not c.logprobs for c in completions):
        raise CallError(Outcome.INCOMPLETE, "the server sent no log-probabilities")
    if sampling.alternatives and any(c.text and not c.alternatives for c in completions):
        raise CallError(Outcome.INCOMPLETE, "the server sent no alternatives to the first token")
    return completions, usage


def _other_than(wanted: int, found: int) -> CallError:
    return CallError(
        Outcome.INCOMPLETE,
        f"asked for {wanted} samples in one request, got {found}{ONE_SAMPLE}",
    )


def without_keys(completion: Completion, secrets: Secrets) -> Completion:
    """Take our keys out of every text of a completion; one that holds none comes back as it is."""
    if not secrets:
        return completion
    text, tokens = secrets.redact(completion.text), secrets.redact_parts(completion.tokens)
    reasoning = completion.reasoning and secrets.redact(completion.reasoning)
    names = tuple(token for token, _ in completion.alternatives)
    others = secrets.redact_parts(names)
    if (
        text is completion.text
        and tokens is completion.tokens
        and reasoning is completion.reasoning
        and others is names
    ):
        return completion
    values = (value for _, value in completion.alternatives)
    alternatives = tuple(zip(others, values, strict=True))
    return replace(
        completion, text=text, reasoning=reasoning, tokens=tokens, alternatives=alternatives
    )


def _loads(body: bytes) -> Any:  # noqa: ANN401 - the shape is checked by who reads it
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        if b"\\ud" not in body.lower():
            raise
        return json.loads(body)  # half of an emoji, which orjson refuses; `_text` drops it


def _place(choice: dict[str, Any]) -> int:
    return int(choice.get("index") or 0)


def _completion(choice: dict[str, Any], model: str) -> Completion:
    message = choice["message"]
    text, reasoning = _text(message.get("content")), message.get("reasoning")
    reasoning = message.get("reasoning_content") if reasoning is None else reasoning
    content = (choice.get("logprobs") or {}).get("content") or ()
    return Completion(
        text=text,
        model=model,
        truncated=choice.get("finish_reason") == "length",
        reasoning=None if reasoning is None else _text(reasoning),
        tokens=tuple(_text(token["token"]) for token in content),
        logprobs=tuple(float(token["logprob"]) for token in content),
        alternatives=_alternatives(content),
    )


def _alternatives(content: Sequence[dict[str, Any]]) -> tuple[tuple[str, float], ...]:
    first = (content[0].get("top_logprobs") or ()) if content else ()
    return tuple((_text(other["token"]), float(other["logprob"])) for other in first)


def _text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return replace_halves(content)
    if isinstance(content, list):
        return "".join(_text(part["text"]) for part in content if part.get("type") == "text")
    raise TypeError


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    asked, said = int(prompt or 0), int(completion or 0)
    if not (0 <= asked < 2**53 and 0 <= said < 2**53):
        raise ValueError
    return Usage(prompt=asked, completion=said)


def model_names(body: bytes) -> list[str]:
    """Read which models a server names, as far as it does."""
    try:
        return [str(model["id"]) for model in orjson.loads(body)["data"]]
    except (orjson.JSONDecodeError, KeyError, TypeError, RecursionError):
        return []


_FRAME = 65_536  # bytes around the samples
_SAMPLE, _TOKEN = 16_384, 64  # bytes around a sample's text, bytes of a token in it
_UNBOUNDED = 1_048_576  # bytes of a sample where no `max_tokens` was set
_UNBOUNDED_TOKENS = 32_768  # tokens with log-probabilities, likewise
_LOGPROB = 256  # bytes of a token with its log-probability, and of each alternative
_VALUES, _VALUES_OF_SAMPLE, _VALUES_OF_LOGPROB = 4096, 512, 64
_MOST_VALUES = 3_000_000  # of one reply, whatever was asked for
_OBJECT = 8  # an empty object or list takes the memory of about eight numbers
_STRETCH = 65_536  # bytes, so that a flood is noticed before all of it is split
_STRUCTURE = b'"{[,'
_REST = bytes(byte for byte in range(256) if byte not in _STRUCTURE)


def sample_limit(sampling: Sampling) -> int:
    """Return the most characters that one sample may have, its reasoning included."""
    if sampling.max_tokens is None:
        return _UNBOUNDED
    return _SAMPLE + _TOKEN * sampling.max_tokens


def reply_limit(sampling: Sampling) -> int:
    """Return the most bytes that a reply may have.

    >>> from novarag.calls import Sampling
    >>> reply_limit(Sampling(n=16, max_tokens=2048))
    2424832
    """
    logprobs = _LOGPROB * _entries(sampling)
    return _FRAME + sampling.n * (sample_limit(sampling) + logprobs)


def check_values(body: bytes, sampling: Sampling) -> None:
    """Refuse a body with more objects, lists and fields than a reply has, before any is built.

    A million empty choices are three bytes each, and twenty times that once they are objects.
    """
    most = _VALUES + sampling.n * _VALUES_OF_SAMPLE
    most = min(most + sampling.n * _entries(sampling) * _VALUES_OF_LOGPROB, _MOST_VALUES)
    if _weight(body) <= most:
        return  # signs in texts are counted, too: nearly always few enough
    signs = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _REST)
    if signs.count(b'"') > 2 * most or _is_heavier(signs, most):
        raise CallError(Outcome.MALFORMED, "the body holds more values than a reply has")


def _is_heavier(signs: bytes, most: int) -> bool:
    """Weigh the signs outside of quotes, a stretch at a time, until they are too many."""
    weight, inside = 0, 0
    for start in range(0, len(signs), _STRETCH):
        pieces = signs[start : start + _STRETCH].split(b'"')
        weight += _weight(b"".join(pieces[inside::2]))
        inside = (inside + len(pieces) - 1) % 2
        if weight > most:
            return True
    return False


def _weight(body: bytes) -> int:
    """Count values by their signs, objects and lists for as much as they take."""
    return body.count(b",") + _OBJECT * (body.count(b"{") + body.count(b"["))


def _entries(sampling: Sampling) -> int:
    """Count the log-probabilities that one sample may come with."""
    if not sampling.logprobs:
        return 0
    return (sampling.max_tokens or _UNBOUNDED_TOKENS) * (1 + sampling.alternatives)
