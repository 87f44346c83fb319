"""Scoring a reply or an answer that somebody else got, for guardrails and offline checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.decisions import PolicyDecision
from novarag.gateway.http.connection import send_whole
from novarag.gateway.http.replies import make_verdict, make_verdict_headers
from novarag.gateway.http.requests import BadRequest, ScoreRequest, parse_body, parse_question
from novarag.records import Completion
from novarag.scoring import Exchange, stated_exchange

if TYPE_CHECKING:
    from novarag.gateway.decisions import ModelRespondent
    from novarag.gateway.http.requests import ParsedQuestion
    from novarag.gateway.http.served_request import ServedRequest


async def serve_score(served: ServedRequest, body: bytes) -> None:
    """Answer one request for a score."""
    made, judged = await score_request(served, parse_body(ScoreRequest, body))
    await send_whole(
        served.send,
        200,
        orjson.dumps({"answer": made.text, **judged}),
        make_verdict_headers(judged),
    )


async def score_request(
    served: ServedRequest, request: ScoreRequest
) -> tuple[PolicyDecision, dict[str, Any]]:
    """Score what somebody else got; return the decision, which is kept, and its object."""
    respondent, snapshot = served.find_respondent(request.model, route="score"), served.snapshot
    asked = parse_question(request.question, request.passages, snapshot.settings.limits)
    made = await _score(respondent, request, asked)
    judged = make_verdict(served.id, asked, made, snapshot.version)
    served.keep_decision(asked, made, shown=made.text is not None)
    return made, judged


async def _score(
    respondent: ModelRespondent, request: ScoreRequest, asked: ParsedQuestion
) -> PolicyDecision:
    """Score a reply, an answer with its confidence, or an answer whose confidence is asked for."""
    if (request.reply is None) == (request.answer is None):
        raise BadRequest("give either `reply` or `answer`")
    given = request.answer if request.reply is None else request.reply
    said = Completion(text=str(given), model=respondent.settings.name)
    if request.reply is not None:
        answer = respondent.scorer.score(
            Exchange(group=asked.group, completion=said, signals=request.signals)
        )
        return PolicyDecision.by(respondent, answer)
    if request.confidence is not None:
        stated = stated_exchange(asked.group, said, request.confidence)
        exchange = replace(stated, signals=request.signals)
        return PolicyDecision(answer=respondent.scorer.score(exchange))
    answer, usage = await respondent.judge(asked.group, said.text)
    return PolicyDecision.by(respondent.judging, answer, usage)
