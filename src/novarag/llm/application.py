"""A whole application as a respondent: question and passages in, answer and confidence out.

The request is a JSON object, `{"question": "…", "passages": ["…"]}`, and it is the prompt of a run:
so a run journals, resumes and bills applications as it does models. The reply is an object with
`answer` and `confidence`, or with `reply`, a text that a strategy reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self

from novarag.calls import GREEDY, Attempt, CallError, Outcome, Reply, Sampling
from novarag.errors import ServiceError
from novarag.llm.functions import CallerFunction
from novarag.llm.wire import check_values
from novarag.records import Completion, Flaw, Prompt, Reading
from novarag.texts import parse_json, replace_halves
from novarag.web.endpoint import parse_address
from novarag.web.redaction import REMARK
from novarag.web.sending import Patience, Sender

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from novarag.calls import AttemptListener
    from novarag.records import PassageGroup
    from novarag.strategies import Strategy

PREFIX = "app+"
"""How a run names what it asked an application: this, and the strategy that reads its texts."""

LARGEST_REPLY = 1_048_576
"""Bytes that the reply of an application may have."""

_FORMAT = b"novarag application 1: question, passages -> answer, confidence | reply\n"
_VALUES = Sampling(n=32)  # as many values as a chat completion of so many samples may hold
_WANTED = 'wanted a JSON object with "answer" and "confidence", or with "reply"'


@dataclass(frozen=True, slots=True)
class Application:
    """What an application is asked and how its replies are read: an `Asking`."""

    strategy: Strategy

    @property
    def name(self) -> str:
        """The name it goes by."""
        return PREFIX + self.strategy.name

    @property
    def fingerprint(self) -> str:
        """The hash of what is sent and of how texts that come back are read."""
        return sha256(_FORMAT + self.strategy.template.hash.encode()).hexdigest()

    def render(self, group: PassageGroup) -> Prompt:
        """Return the request: question and passages as JSON."""
        content = {
            "question": replace_halves(group.question.text),
            "passages": [replace_halves(passage.text) for passage in group.passages],
        }
        text = json.dumps(content, ensure_ascii=False)
        return Prompt(text=text, strategy=self.name, template_hash=self.fingerprint)

    def read(self, reply: str, *, group: PassageGroup, truncated: bool = False) -> Reading:
        """Read what came back; nothing is guessed, so a confidence of 85 is out of bounds."""
        try:
            said = parse_json(reply)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            return _flawed(Flaw.NO_ANSWER)
        if "answer" not in said and isinstance(said.get("reply"), str):
            return self.strategy.read(said["reply"], group=group, truncated=truncated)
        return _fields(said.get("answer"), said.get("confidence"))


def _fields(answer: object, confidence: object) -> Reading:
    if not isinstance(answer, str) or not answer.strip():
        return _flawed(Flaw.NO_ANSWER)
    if confidence is None:
        return _flawed(Flaw.NO_CONFIDENCE)
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)):
        return _flawed(Flaw.WORDS)
    if not 0 <= confidence <= 1:  # nor is what is not a number
        return _flawed(Flaw.OUT_OF_BOUNDS)
    return Reading(answer=answer.strip(), confidence=float(confidence), spans={})


def _flawed(flaw: Flaw) -> Reading:
    return Reading(flaw=flaw, spans={})


def canonical(said: object) -> str | None:
    """Return what is kept of a reply, as JSON: its answer and confidence, or its text.

    None where it holds neither. Values of another kind than wanted are kept as the name of theirs.
    """
    if isinstance(said, str):
        return json.dumps({"reply": replace_halves(said)})
    if not isinstance(said, Mapping):
        return None
    if "answer" in said:
        kept = {name: _kept(said.get(name)) for name in ("answer", "confidence")}
        return json.dumps(kept)
    return (
        json.dumps({"reply": replace_halves(said["reply"])})
        if _is_text(said.get("reply"))
        else None
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _kept(value: object) -> object:
    if isinstance(value, str):
        return replace_halves(value)
    known = value is None or isinstance(value, (bool, int, float))
    return value if known else {"kind": type(value).__name__}


class AppLLM:
    """An application behind an address, for use in `async with`.

    A request may have been acted on even if no reply came, so it is sent again only where it
    cannot have been: no connection, or turned away for its rate. The key that is sent is the one
    in `key_env`, and none without it.
    """

    def __init__(
        self, url: str, *, key_env: str | None = None, patience: Patience | None = None
    ) -> None:
        self._endpoint = parse_address(url, key_env=key_env)
        path = "/" if url.strip().endswith("/") else ""
        self.model = self._endpoint.url + path
        held = replace(patience or Patience(), unacted_only=True, largest_reply=LARGEST_REPLY)
        self._sender = Sender([self._endpoint], path, patience=held)

    async def __aenter__(self) -> Self:
        await self._sender.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._sender.__aexit__(kind, error, trace)

    async def check(self) -> None:
        """See that something listens there; what it says to a GET does not matter."""
        try:
            await self._sender.get(self._endpoint, "")
        except CallError as error:
            if error.outcome is Outcome.UNREACHABLE:
                raise

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Post the prompt as it is; a reply that is not of the agreed kind is malformed."""
        if sampling.n != 1:
            raise ServiceError("an application gives one reply to a request", retryable=False)

        def read(content: bytes) -> Reply:
            said = _object(content)
            clean = self._sender.secrets.redact_tree(said)
            text = canonical(clean)
            if text is None:
                raise CallError(Outcome.MALFORMED, _WANTED)
            remarks = () if clean == said else (REMARK,)
            return Reply(completions=(Completion(text=text, model=self.model),), remarks=remarks)

        reply, attempt = await self._sender.post(prompt.encode(), read, key=key, tell=tell)
        return replace(reply, attempt=attempt)


def _object(content: bytes) -> dict[str, Any]:
    """Parse a reply, and take what may be kept of it before anything else is done with it."""
    check_values(content, _VALUES)
    try:
        said = parse_json(content)
    except ValueError:
        raise CallError(Outcome.MALFORMED, f"the reply is no JSON; {_WANTED}") from None
    if not isinstance(said, dict):
        raise CallError(Outcome.MALFORMED, f"the reply is a {type(said).__name__}; {_WANTED}")
    return {name: said[name] for name in ("answer", "confidence", "reply") if name in said}


class FunctionApp:
    """A function `(question, passages)`, plain or async, as a respondent.

    It returns `{"answer": …, "confidence": …}`, `{"reply": …}`, a text, an (answer, confidence)
    pair, or an object with these two attributes. A plain one runs in a thread. What it raises is
    said as a `ServiceError`. Its attribute `model`, or its name, names it in the run.
    """

    def __init__(self, call: Callable[[str, list[str]], object]) -> None:
        self._call = CallerFunction(call, parameter="app")
        named = getattr(call, "model", None) or getattr(call, "__qualname__", None)
        self.model = replace_halves(named) if isinstance(named, str) else type(call).__name__

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Call the function once for each sample."""
        attempt = Attempt(id=f"called-{key}", endpoint=self.model)
        if tell is not None:
            tell(attempt)
        asked = json.loads(prompt)
        question, passages = asked["question"], asked["passages"]
        texts = [await self._reply(question, list(passages)) for _ in range(sampling.n)]
        completions = tuple(Completion(text=text, model=self.model) for text in texts)
        return Reply(completions=completions, attempt=attempt.id)

    async def _reply(self, question: str, passages: list[str]) -> str:
        said = await self._call(question, passages)
        text = canonical(_as_mapping(said))
        if text is None:
            raise self._call.refusal(f"returned {type(said).__name__}; {_WANTED}")
        return text


def _as_mapping(said: object) -> object:
    if isinstance(said, tuple) and len(said) == 2:
        return {"answer": said[0], "confidence": said[1]}
    if not isinstance(said, (str, Mapping)) and hasattr(said, "answer"):
        return {"answer": said.answer, "confidence": getattr(said, "confidence", None)}
    return said
