"""Scoring a reply or an answer that somebody else got, for guardrails and offline checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.decisions import PolicyDecision
from novarag.gateway.http.connection import send_whole
from novarag.gateway.http.replies import headers_of, verdict
from novarag.gateway.http.requests import BadRequest, ScoreRequest, asked_about, parse
from novarag.records import Completion
from novarag.scoring import Exchange, stated_exchange

if TYPE_CHECKING:
    from novarag.gateway.decisions import Respondent
    from novarag.gateway.http.requests import Asked
    from novarag.gateway.http.served_request import ServedRequest


async def serve_score(served: ServedRequest, body: bytes) -> None:
    """Answer one request for a score."""
    made, judged = await scored(served, parse(ScoreRequest, body))
    await send_whole(
        served.send, 200, orjson.dumps({"answer": made.text, **judged}), headers_of(judged)
    )


async def scored(
    served: ServedRequest, request: ScoreRequest
) -> tuple[PolicyDecision, dict[str, Any]]:
    """Score what somebody else got; return the decision, which is kept, and its object."""
    respondent, snapshot = served.respondent(request.model, route="score"), served.snapshot
    asked = asked_about(request.question, request.passages, snapshot.settings.limits)
    made = await _scored(respondent, request, asked)
    judged = verdict(served.id, asked, made, snapshot.version)
    served.decided(asked, made, shown=made.text is not None)
    return made, judged


async def _scored(respondent: Respondent, request: ScoreRequest, asked: Asked) -> PolicyDecision:
    """Score a reply, an answer with its confidence, or an answer whose confidence is asked for."""
    if (request.reply is None) == (request.answer is None):
        raise BadRequest("give either `reply` or `answer`")
    given = request.answer if request.reply is None else request.reply
    said = Completion(text=str(given), model=respondent.settings.name)
    if request.reply is not None:
        answer = respondent.scorer.score(Exchange(group=asked.group, completion=said))
        return PolicyDecision.by(respondent, answer)
    if request.confidence is not None:
        exchange = stated_exchange(asked.group, said, request.confidence)
        return PolicyDecision(answer=respondent.scorer.score(exchange))
    answer, usage = await respondent.judge(asked.group, said.text)
    return PolicyDecision.by(respondent.judging, answer, usage)
