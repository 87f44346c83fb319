"""The guardrail that LiteLLM's proxy asks: a reply passes or is blocked, by gate and policy.

The proxy tells what was asked with the request alone, so that is remembered by the call's id until
the reply comes. What cannot be scored is blocked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.http.connection import send_whole
from novarag.gateway.http.remembered_calls import CallMemory
from novarag.gateway.http.replies import choose_text, make_verdict_headers
from novarag.gateway.http.requests import (
    BadRequest,
    GuardrailRequest,
    ScoreRequest,
    parse_body,
    read_guarded_texts,
)
from novarag.gateway.http.score import score_request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.gateway.http.remembered_calls import CallTexts
    from novarag.gateway.http.served_request import ServedRequest

GUARDRAIL = "/beta/litellm_basic_guardrail_api"


class Guardrail:
    """Answers the proxy about requests and replies."""

    def __init__(self) -> None:
        self._calls = CallMemory()

    async def serve(self, served: ServedRequest, body: bytes) -> None:
        """Answer the proxy once."""
        request: GuardrailRequest = parse_body(GuardrailRequest, body)
        served.snapshot.respondent(request.additional_provider_specific_params.novarag.model)
        if request.input_type == "request":
            try:
                asked: CallTexts | str = read_guarded_texts(request)
            except BadRequest as error:  # an agent may have no passages yet: the reply will tell
                asked = str(error)
            if request.litellm_call_id:
                self._calls.keep(served.tenant, request.litellm_call_id, asked)
        elif request.texts or not request.tool_calls:
            await self._judge(served, request)
            return
        await _send(served, "NONE")  # a request, or a step of an agent that shows nothing

    async def _judge(self, served: ServedRequest, request: GuardrailRequest) -> None:
        try:
            asked = (
                read_guarded_texts(request)
                if _tells(request)
                else self._asked(served.tenant, request)
            )
            made, judged = await score_request(served, _score_request(request, asked))
        except BadRequest as error:
            served.keep_refusal(200)
            await _send(served, "BLOCKED", blocked_reason=f"no confidence: {error}")
            return
        headers = make_verdict_headers(judged)
        if made.text is None:
            words = choose_text(made, served.snapshot.settings.texts)
            why = f"{words} ({judged['decision']}: {judged['reason']}; id {judged['id']})"
            await _send(served, "BLOCKED", headers, blocked_reason=why)
        elif [made.text] == request.texts:
            await _send(served, "NONE", headers)
        else:
            await _send(served, "GUARDRAIL_INTERVENED", headers, texts=[made.text])

    def _asked(self, tenant: str, request: GuardrailRequest) -> CallTexts:
        return self._calls.find(tenant, request.litellm_call_id)


async def _send(
    served: ServedRequest, action: str, headers: Sequence[tuple[bytes, bytes]] = (), **more: object
) -> None:
    await send_whole(served.send, 200, orjson.dumps({"action": action, **more}), [*headers])


def _score_request(request: GuardrailRequest, asked: CallTexts) -> ScoreRequest:
    guarded, texts = request.additional_provider_specific_params.novarag, request.texts or []
    if len(texts) != 1 or not texts[0].strip():
        raise BadRequest("there is not exactly one reply")
    given: dict[str, Any] = {"question": asked[0], "passages": asked[1], guarded.kind: texts[0]}
    return ScoreRequest.model_construct(model=guarded.model, **given)


def _tells(request: GuardrailRequest) -> bool:
    guarded = request.additional_provider_specific_params.novarag
    return bool(request.structured_messages or (guarded.question and guarded.passages))
