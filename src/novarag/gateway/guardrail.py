"""The guardrail that LiteLLM's proxy asks: a reply passes or is blocked, by gate and policy.

The proxy tells what was asked with the request alone, so that is remembered by the call's id until
the reply comes. What cannot be scored is blocked.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.connection import send_whole
from novarag.gateway.replies import headers_of, user_text
from novarag.gateway.requests import BadRequest, GuardrailRequest, ScoreRequest, asked_in, parse
from novarag.gateway.scored import scored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.gateway.exchange import Exchange
    from novarag.gateway.requests import GivenPassage

    Asked = tuple[str, list[GivenPassage | str]]
    Call = tuple[str, str | None]  # whose, and its id

GUARDRAIL = "/beta/litellm_basic_guardrail_api"


class Calls:
    """What was asked, by call: for so long, and no more than so many bytes of all calls."""

    def __init__(self, *, seconds: float = 600, room: int = 64_000_000) -> None:
        self._seconds, self._room = seconds, room
        self._kept: dict[Call, tuple[float, int, Asked | BadRequest]] = {}  # the oldest is first

    def keep(self, call: Call, asked: Asked | BadRequest, size: int) -> None:
        """Keep what a call asked; of two that differ under one id neither is believed."""
        known = self._kept.pop(call, None)
        if known is not None:
            self._room += known[1]
            asked = asked if asked == known[2] else BadRequest("two calls have this id")
        self._kept[call] = (time.monotonic() + self._seconds, size, asked)
        self._room -= size
        for old, (until, length, _) in list(self._kept.items()):
            if self._room >= 0 and until > time.monotonic():
                break
            del self._kept[old]
            self._room += length

    def find(self, call: Call) -> Asked:
        """Return what a call asked, or say why that is not known."""
        until, _, asked = self._kept.get(call, (0.0, 0, BadRequest("this call is not known here")))
        if isinstance(asked, BadRequest):
            raise asked
        if until <= time.monotonic():
            raise BadRequest("this call was asked too long ago")
        return asked


class Guardrail:
    """Answers the proxy about requests and replies."""

    def __init__(self) -> None:
        self._calls = Calls()

    async def serve(self, exchange: Exchange, body: bytes) -> None:
        """Answer the proxy once."""
        request: GuardrailRequest = parse(GuardrailRequest, body)
        call = (exchange.tenant, request.litellm_call_id)
        exchange.snapshot.respondent(request.additional_provider_specific_params.novarag.model)
        if request.input_type == "request":
            try:
                asked: Asked | BadRequest = asked_in(request)
            except BadRequest as error:  # an agent may have no passages yet: the reply will tell
                asked = error
            if request.litellm_call_id:
                self._calls.keep(call, asked, len(body))
        elif request.texts or not request.tool_calls:
            await self._judge(exchange, request, call)
            return
        await _send(exchange, "NONE")  # a request, or a step of an agent that shows nothing

    async def _judge(self, exchange: Exchange, request: GuardrailRequest, call: Call) -> None:
        try:
            asked = asked_in(request) if _tells(request) else self._calls.find(call)
            made, judged = await scored(exchange, _score_request(request, asked))
        except BadRequest as error:
            exchange.tallies.turn_away("bad request")
            await _send(exchange, "BLOCKED", blocked_reason=f"no confidence: {error}")
            return
        headers = headers_of(judged)
        if made.text is None:
            words = user_text(made, exchange.snapshot.settings.texts)
            why = f"{words} ({judged['decision']}: {judged['reason']}; id {judged['id']})"
            await _send(exchange, "BLOCKED", headers, blocked_reason=why)
        elif [made.text] == request.texts:
            await _send(exchange, "NONE", headers)
        else:
            await _send(exchange, "GUARDRAIL_INTERVENED", headers, texts=[made.text])


async def _send(
    exchange: Exchange, action: str, headers: Sequence[tuple[bytes, bytes]] = (), **more: object
) -> None:
    await send_whole(exchange.send, 200, orjson.dumps({"action": action, **more}), [*headers])


def _score_request(request: GuardrailRequest, asked: Asked) -> ScoreRequest:
    guarded, texts = request.additional_provider_specific_params.novarag, request.texts or []
    if len(texts) != 1 or not texts[0].strip():
        raise BadRequest("there is not exactly one reply")
    given: dict[str, Any] = {"question": asked[0], "passages": asked[1], guarded.kind: texts[0]}
    return ScoreRequest.model_construct(model=guarded.model, **given)


def _tells(request: GuardrailRequest) -> bool:
    guarded = request.additional_provider_specific_params.novarag
    return bool(request.structured_messages or (guarded.question and guarded.passages))
