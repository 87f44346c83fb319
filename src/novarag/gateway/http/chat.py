"""Chat completions: ours decided on and answered, all others passed on as they came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.gateway.decisions import CHAT, make_refusal
from novarag.gateway.http.connection import EventSender, send_whole
from novarag.gateway.http.live_answer import LiveAnswer, follow_stream
from novarag.gateway.http.replies import (
    ChunkWriter,
    choose_text,
    make_passed_headers,
    make_verdict,
    make_verdict_headers,
    write_completion,
)
from novarag.gateway.http.requests import (
    BadRequest,
    ChatRequest,
    find_reason_to_pass,
    parse_body,
    parse_question,
    read_documents,
    read_question,
    rewrite_for_upstream,
)
from novarag.gateway.http.sse import read_event_data
from novarag.gateway.http.usage import find_usage
from novarag.gateway.upstream import UpstreamUnavailable, read_events, read_retry_after
from novarag.scoring.policy import DecisionMode

if TYPE_CHECKING:
    from novarag.gateway.decisions import ModelRespondent, PolicyDecision
    from novarag.gateway.http.requests import ParsedQuestion
    from novarag.gateway.http.served_request import ServedRequest
    from novarag.gateway.upstream import UpstreamReply


async def serve_chat(served: ServedRequest, body: bytes) -> None:
    """Answer one request for a chat completion."""
    request: ChatRequest = parse_body(ChatRequest, body)
    route = "stream" if request.stream else "chat"
    respondent = served.find_respondent(request.model, route=route)
    reason = find_reason_to_pass(request, searches=respondent.settings.search is not None)
    if reason is not None:
        await _pass_on(served, respondent, (request, body), reason)
        return
    limits = served.snapshot.settings.limits
    question, documents = read_question(request), read_documents(request)
    if not documents and respondent.settings.search is not None:
        documents = [*await served.snapshot.searches[respondent.settings.search].find(question)]
    served.asked = asked = parse_question(question, documents, limits)
    if request.stream and respondent.settings.mode is DecisionMode.ANNOTATE:
        await _stream_decision(served, respondent, request, asked)
        return
    made = await served.snapshot.decider.make_decision(respondent.name, asked, request)
    await _send_decision(served, request, asked, made)


async def _pass_on(
    served: ServedRequest,
    respondent: ModelRespondent,
    given: tuple[ChatRequest, bytes],
    reason: str,
) -> None:
    request, body = given
    if request.novarag is not None and reason != "no passages":
        raise BadRequest(
            f"a request with {reason} gets no confidence; leave `novarag` out to have it passed"
            " on as it is",
            param="novarag",
        )
    content = rewrite_for_upstream(body, respondent.settings.name)
    if request.stream:
        await _pass_events(served, respondent, content, reason)
        return
    reply = await respondent.upstream.post(CHAT, content)
    await _pass_whole(served, respondent, reply, reason)


async def _pass_whole(
    served: ServedRequest, respondent: ModelRespondent, reply: UpstreamReply, reason: str
) -> None:
    clean = respondent.upstream.without_keys(reply.body)
    after = [] if reply.after is None else [(b"retry-after", b"%d" % reply.after)]
    headers = [*make_passed_headers(reason), *after]
    served.keep_passed(reply.status, find_usage(reply.body))
    await send_whole(served.send, reply.status, clean, headers, kind=reply.kind.encode("ascii"))


async def _send_decision(
    served: ServedRequest, request: ChatRequest, asked: ParsedQuestion, made: PolicyDecision
) -> None:
    snapshot = served.snapshot
    judged = make_verdict(served.id, asked, made, snapshot.version)
    text = choose_text(made, snapshot.settings.texts)
    served.keep_decision(asked, made, shown=made.text is not None)
    if not request.stream:
        body = write_completion(request.model, text, judged, made.usage)
        await send_whole(served.send, 200, body, make_verdict_headers(judged))
        return
    events, chunks = EventSender(served.send), _make_chunks(request, served.id)
    await events.begin(make_verdict_headers(judged))
    await events.event(chunks.write_piece(text, first=True))
    for event in chunks.write_end(judged, made.usage):
        await events.event(event)
    await events.end()


async def _stream_decision(
    served: ServedRequest, respondent: ModelRespondent, request: ChatRequest, asked: ParsedQuestion
) -> None:
    """Show the answer as soon as its line is whole, and the verdict when the reply is."""
    snapshot, identity, events = served.snapshot, served.id, EventSender(served.send)
    chunks, live = _make_chunks(request, identity), LiveAnswer(respondent, asked, request)
    async with respondent.held.stream(CHAT, live.body) as response:
        if response.status != 200:
            raise make_refusal(response.status, read_retry_after(response))
        await events.begin([(b"x-novarag-id", identity.encode())])
        async for text in follow_stream(response, live, snapshot.settings.limits.reply):
            await events.event(chunks.write_piece(text, first=True))
    made = live.make_decision()
    judged = make_verdict(identity, asked, made, snapshot.version)
    served.keep_decision(asked, made, shown=live.shown is not None or made.text is not None)
    if live.shown is None:
        text = choose_text(made, snapshot.settings.texts)
        await events.event(chunks.write_piece(text, first=True))
    for event in chunks.write_end(judged, made.usage):
        await events.event(event)
    await events.end()


def _make_chunks(request: ChatRequest, identity: str) -> ChunkWriter:
    wanted = bool((request.stream_options or {}).get("include_usage"))
    return ChunkWriter(request.model, identity, usage=wanted)


async def _pass_events(
    served: ServedRequest, respondent: ModelRespondent, body: bytes, reason: str
) -> None:
    """Pass a stream on, event by event; one that was cut off never ends as if it were whole."""
    upstream, events = respondent.upstream, EventSender(served.send)
    end: bytes | None = None
    usage = None
    async with upstream.stream(CHAT, body) as response:
        if response.status != 200:
            await _pass_whole(served, respondent, await upstream.whole(response), reason)
            return
        await events.begin(make_passed_headers(reason))
        async for event in read_events(response, _LONGEST_EVENT):
            data = read_event_data(event)
            usage = find_usage(data) or usage
            if data == b"[DONE]":
                end = event
            elif end is None:
                await events.event(upstream.without_keys(event))
        if end is None:
            raise UpstreamUnavailable("the model's server ended its reply too early")
    served.keep_passed(200, usage)
    await events.event(end)
    await events.end()


_LONGEST_EVENT = 1_000_000  # bytes of one event of an upstream, beyond which it is refused
