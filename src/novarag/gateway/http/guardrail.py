"""The guardrail that LiteLLM's proxy asks: a reply passes or is blocked, by gate and policy.

The proxy tells what was asked with the request alone, so that is remembered by the call's id until
the reply comes, within bounds. What cannot be scored is blocked.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from sys import getsizeof
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from novarag.gateway.http.connection import send_whole
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

    from novarag.gateway.http.requests import GivenPassage
    from novarag.gateway.http.served_request import ServedRequest

    CallTexts = tuple[str, list[GivenPassage | str]]

GUARDRAIL = "/beta/litellm_basic_guardrail_api"
_CALL = 1_000  # bytes that a call takes beside its texts: its id, its place, its time
_PASSAGE = 1_000  # bytes that a passage takes beside its text where more is known of it
_FIELDS = ("text", "source", "date", "id")
_TWICE = "two calls have this id"


class Guardrail:
    """Answers the proxy about requests and replies."""

    def __init__(self) -> None:
        self._calls = CallMemory()

    async def serve(self, served: ServedRequest, body: bytes) -> None:
        """Answer the proxy once."""
        request: GuardrailRequest = parse_body(GuardrailRequest, body)
        served.snapshot.find_respondent(request.additional_provider_specific_params.novarag.model)
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
                if _names_question(request)
                else self._find_call(served.tenant, request)
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

    def _find_call(self, tenant: str, request: GuardrailRequest) -> CallTexts:
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
    return ScoreRequest.model_construct(model=guarded.model, signals=guarded.signals, **given)


def _names_question(request: GuardrailRequest) -> bool:
    guarded = request.additional_provider_specific_params.novarag
    return bool(request.structured_messages or (guarded.question and guarded.passages))


class RememberedCall(NamedTuple):
    """What a call asked, or why that is not known; until when, and how many bytes it takes."""

    asked: CallTexts | str
    until: float
    size: int


class TenantCalls:
    """The calls of one tenant, the oldest first."""

    def __init__(self) -> None:
        self.calls: OrderedDict[str, RememberedCall] = OrderedDict()
        self.size = 0

    def put(self, identity: str, call: RememberedCall) -> None:
        """Put a call last."""
        self.calls[identity] = call
        self.size += call.size

    def take(self, identity: str) -> RememberedCall | None:
        """Take a call out, if it is there."""
        call = self.calls.pop(identity, None)
        if call is not None:
            self.size -= call.size
        return call

    def drop_first(self) -> None:
        """Forget the oldest call."""
        self.size -= self.calls.popitem(last=False)[1].size

    @property
    def first_ends(self) -> float:
        """When the oldest call is forgotten."""
        return next(iter(self.calls.values())).until


class CallMemory:
    """What was asked, by tenant and call.

    A call is kept for so many `seconds`, and of a tenant no more than `most`. All together they
    take no more than `room` bytes, texts and all else: beyond it the tenant that has most loses its
    oldest call, so that none pushes out the calls of another.
    """

    def __init__(self, *, seconds: float = 600, most: int = 10_000, room: int = 64_000_000) -> None:
        self._seconds, self._most, self._room = seconds, most, room
        self._tenants: dict[str, TenantCalls] = {}
        self._size = 0

    def keep(self, tenant: str, identity: str, asked: CallTexts | str) -> None:
        """Keep what a call asked; of two that differ under one id neither is believed."""
        kept, now = self._tenants.setdefault(tenant, TenantCalls()), time.monotonic()
        before = kept.size
        known = kept.take(identity)
        if known is not None and known.asked != asked:
            asked = _TWICE
        kept.put(identity, RememberedCall(asked, now + self._seconds, measure_call(asked)))
        while len(kept.calls) > self._most or kept.first_ends <= now:
            kept.drop_first()
        self._size += kept.size - before
        while self._size > self._room:
            largest = max(self._tenants.values(), key=lambda one: one.size)
            before = largest.size
            largest.drop_first()
            self._size += largest.size - before

    def find(self, tenant: str, identity: str | None) -> CallTexts:
        """Return what a call asked, or say why that is not known."""
        kept = self._tenants.get(tenant)
        call = None if kept is None or identity is None else kept.calls.get(identity)
        if call is None:
            raise BadRequest("this call is not known here")
        if isinstance(call.asked, str):
            raise BadRequest(call.asked)
        if call.until <= time.monotonic():
            raise BadRequest("this call was asked too long ago")
        return call.asked


def measure_call(asked: CallTexts | str) -> int:
    """Say how many bytes a call takes in memory, rather more than less."""
    if isinstance(asked, str):
        return _CALL + getsizeof(asked)
    question, passages = asked
    texts = getsizeof(question) + getsizeof(passages)
    return _CALL + texts + sum(map(_measure_passage, passages))


def _measure_passage(passage: GivenPassage | str) -> int:
    if isinstance(passage, str):
        return getsizeof(passage)
    return _PASSAGE + sum(getsizeof(getattr(passage, name)) for name in _FIELDS)
