"""A gateway of ours as a model: question and passages in, the answer and its verdict out.

The prompt is what `gateway_prompt` writes, the completion what `gateway_reply` reads: both JSON, so
that requests through a gateway go through the same run layer as all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from novarag.calls import GREEDY, CallError, Outcome, Reply
from novarag.llm.chat import ChatLLM
from novarag.llm.wire import read_reply, reply_limit, without_keys
from novarag.texts import replace_halves
from novarag.web.redaction import REMARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.calls import AttemptListener, Sampling
    from novarag.records import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayReply:
    """What a gateway said: its text, and what it holds the answer to be worth."""

    text: str
    confidence: float | None
    decision: str | None
    action: str | None
    flaw: str | None


def gateway_prompt(question: str, passages: Sequence[str]) -> str:
    """Write a question and its passages as the prompt of a `GatewayLLM`."""
    fields = {
        "question": replace_halves(question),
        "passages": [replace_halves(passage) for passage in passages],
    }
    return orjson.dumps(fields).decode()


def gateway_reply(completion: str) -> GatewayReply:
    """Read what a `GatewayLLM` brought."""
    content = orjson.loads(completion)
    fields = content["novarag"]
    confidence = fields.get("confidence")
    return GatewayReply(
        text=str(content["text"]),
        confidence=float(confidence) if isinstance(confidence, (int, float)) else None,
        decision=_word(fields, "decision"),
        action=_word(fields, "action"),
        flaw=_word(fields, "flaw"),
    )


def _word(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


class GatewayLLM(ChatLLM):
    """A model behind one of our gateways, for use in `async with`."""

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Ask with the passages beside the question, and bring the verdict with the text."""

        def read(content: bytes) -> Reply:
            completions, usage = read_reply(content, sampling, self._model)
            fields = tuple(_with_verdict(one, content) for one in completions)
            clean = tuple(without_keys(one, self._sender.secrets) for one in fields)
            remarks = () if clean == fields else (REMARK,)
            return Reply(completions=clean, usage=usage, remarks=remarks)

        body, most = self._body(prompt, sampling), reply_limit(sampling)
        reply, attempt = await self._sender.post(body, read, key=key, tell=tell, most=most)
        return replace(reply, attempt=attempt)

    def _body(self, prompt: str, sampling: Sampling) -> bytes:
        asked = orjson.loads(prompt)
        content: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "user", "content": asked["question"]}],
            "temperature": sampling.temperature,
            "novarag": {"passages": asked["passages"]},
        }
        if sampling.max_tokens is not None:
            content["max_tokens"] = sampling.max_tokens
        return orjson.dumps(content)


def _with_verdict(completion: Completion, content: bytes) -> Completion:
    """Put the verdict of a gateway beside the text of its reply."""
    fields = orjson.loads(content).get("novarag")
    if not isinstance(fields, dict):
        raise CallError(Outcome.MALFORMED, "the reply has no object `novarag`: is it a gateway?")
    text = orjson.dumps({"text": completion.text, "novarag": fields}).decode()
    return replace(completion, text=text)
