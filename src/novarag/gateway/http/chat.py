"""Chat completions: ours decided on and answered, all others passed on as they came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.gateway.decisions import CHAT, refused
from novarag.gateway.http.connection import EventSender, send_whole
from novarag.gateway.http.live_answer import LiveAnswer, follow
from novarag.gateway.http.replies import (
    Chunks,
    completion,
    headers_of,
    passed_headers,
    user_text,
    verdict,
)
from novarag.gateway.http.requests import (
    BadRequest,
    ChatRequest,
    asked_about,
    documents_of,
    for_upstream,
    not_ours,
    parse,
    question_of,
)
from novarag.gateway.http.sse import data_of
from novarag.gateway.http.usage import usage_in
from novarag.gateway.settings import Mode
from novarag.gateway.upstream import Unavailable, events_of, seconds_to_wait

if TYPE_CHECKING:
    from novarag.gateway.decisions import PolicyDecision, Respondent
    from novarag.gateway.http.requests import Asked
    from novarag.gateway.http.served_request import ServedRequest
    from novarag.gateway.upstream import Content


async def serve_chat(served: ServedRequest, body: bytes) -> None:
    """Answer one request for a chat completion."""
    request: ChatRequest = parse(ChatRequest, body)
    route = "stream" if request.stream else "chat"
    respondent = served.respondent(request.model, route=route)
    reason = not_ours(request, searches=respondent.settings.search is not None)
    if reason is not None:
        await _not_ours(served, respondent, (request, body), reason)
        return
    limits = served.snapshot.settings.limits
    question, documents = question_of(request), documents_of(request)
    if not documents and respondent.settings.search is not None:
        documents = [*await served.snapshot.finders[respondent.settings.search].find(question)]
    served.asked = asked = asked_about(question, documents, limits)
    if request.stream and respondent.settings.mode is Mode.ANNOTATE:
        await _streamed(served, respondent, request, asked)
        return
    made = await served.snapshot.decider.decide(respondent.name, asked, request)
    await _decided(served, request, asked, made)


async def _not_ours(
    served: ServedRequest, respondent: Respondent, given: tuple[ChatRequest, bytes], reason: str
) -> None:
    request, body = given
    if request.novarag is not None and reason != "no passages":
        raise BadRequest(
            f"a request with {reason} gets no confidence; leave `novarag` out to have it passed"
            " on as it is",
            param="novarag",
        )
    content = for_upstream(body, respondent.settings.name)
    if request.stream:
        await _pass_events(served, respondent, content, reason)
        return
    reply = await respondent.upstream.post(CHAT, content)
    await _pass_whole(served, respondent, reply, reason)


async def _pass_whole(
    served: ServedRequest, respondent: Respondent, reply: Content, reason: str
) -> None:
    clean = respondent.upstream.without_keys(reply.body)
    after = [] if reply.after is None else [(b"retry-after", b"%d" % reply.after)]
    headers = [*passed_headers(reason), *after]
    served.passed(reply.status, usage_in(reply.body))
    await send_whole(served.send, reply.status, clean, headers, kind=reply.kind.encode("ascii"))


async def _decided(
    served: ServedRequest, request: ChatRequest, asked: Asked, made: PolicyDecision
) -> None:
    snapshot = served.snapshot
    judged = verdict(served.id, asked, made, snapshot.version)
    text = user_text(made, snapshot.settings.texts)
    served.decided(asked, made, shown=made.text is not None)
    if not request.stream:
        body = completion(request.model, text, judged, made.usage)
        await send_whole(served.send, 200, body, headers_of(judged))
        return
    events, chunks = EventSender(served.send), _chunks(request, served.id)
    await events.begin(headers_of(judged))
    await events.event(chunks.text(text, first=True))
    for event in chunks.end(judged, made.usage):
        await events.event(event)
    await events.end()


async def _streamed(
    served: ServedRequest, respondent: Respondent, request: ChatRequest, asked: Asked
) -> None:
    """Show the answer as soon as its line is whole, and the verdict when the reply is."""
    snapshot, identity, events = served.snapshot, served.id, EventSender(served.send)
    chunks, live = _chunks(request, identity), LiveAnswer(respondent, asked, request)
    async with respondent.held.stream(CHAT, live.body) as response:
        if response.status != 200:
            raise refused(response.status, seconds_to_wait(response))
        await events.begin([(b"x-novarag-id", identity.encode())])
        async for text in follow(response, live, snapshot.settings.limits.reply):
            await events.event(chunks.text(text, first=True))
    made = live.decide()
    judged = verdict(identity, asked, made, snapshot.version)
    served.decided(asked, made, shown=live.shown is not None or made.text is not None)
    if live.shown is None:
        text = user_text(made, snapshot.settings.texts)
        await events.event(chunks.text(text, first=True))
    for event in chunks.end(judged, made.usage):
        await events.event(event)
    await events.end()


def _chunks(request: ChatRequest, identity: str) -> Chunks:
    wanted = bool((request.stream_options or {}).get("include_usage"))
    return Chunks(request.model, identity, usage=wanted)


async def _pass_events(
    served: ServedRequest, respondent: Respondent, body: bytes, reason: str
) -> None:
    """Pass a stream on, event by event; one that was cut off never ends as if it were whole."""
    upstream, events = respondent.upstream, EventSender(served.send)
    end: bytes | None = None
    usage = None
    async with upstream.stream(CHAT, body) as response:
        if response.status != 200:
            await _pass_whole(served, respondent, await upstream.whole(response), reason)
            return
        await events.begin(passed_headers(reason))
        async for event in events_of(response, _LONGEST_EVENT):
            data = data_of(event)
            usage = usage_in(data) or usage
            if data == b"[DONE]":
                end = event
            elif end is None:
                await events.event(upstream.without_keys(event))
        if end is None:
            raise Unavailable("the model's server ended its reply too early")
    served.passed(200, usage)
    await events.event(end)
    await events.end()


_LONGEST_EVENT = 1_000_000
