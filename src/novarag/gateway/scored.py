"""Scoring a reply or an answer that somebody else got, for guardrails and offline checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.connection import send_whole
from novarag.gateway.decisions import rule, settle
from novarag.gateway.replies import headers_of, verdict
from novarag.gateway.requests import BadRequest, ScoreRequest, asked_about, parse
from novarag.records import Completion, Reading

if TYPE_CHECKING:
    from novarag.flows.scoring import Answer
    from novarag.gateway.decisions import Decision, Respondent
    from novarag.gateway.exchange import Exchange
    from novarag.gateway.requests import Asked


async def serve_score(exchange: Exchange, body: bytes) -> None:
    """Answer one request for a score."""
    made, judged = await scored(exchange, parse(ScoreRequest, body))
    await send_whole(
        exchange.send, 200, orjson.dumps({"answer": made.text, **judged}), headers_of(judged)
    )


async def scored(exchange: Exchange, request: ScoreRequest) -> tuple[Decision, dict[str, Any]]:
    """Score what somebody else got; return the decision, which is kept, and its object."""
    respondent, snapshot = exchange.respondent(request.model, route="score"), exchange.snapshot
    asked = asked_about(request.question, request.passages, snapshot.settings.limits)
    made = await _scored(respondent, request, asked)
    judged = verdict(exchange.id, asked, made, snapshot.version)
    exchange.decided(asked, made, shown=made.text is not None)
    return made, judged


async def _scored(respondent: Respondent, request: ScoreRequest, asked: Asked) -> Decision:
    """Score a reply, an answer with its confidence, or an answer whose confidence is asked for."""
    if (request.reply is None) == (request.answer is None):
        raise BadRequest("give either `reply` or `answer`")
    policy = respondent.settings.policy
    if request.reply is not None:
        said = Completion(text=request.reply, model=respondent.settings.name)
        answer = respondent.score(asked.group, respondent.strategy, said)
        return settle(answer, rule(answer, policy), by=respondent)
    given = str(request.answer)
    if request.confidence is not None:
        answer = _of_answer(respondent, asked, given, request.confidence)
        return settle(answer, rule(answer, policy))
    answer, usage = await respondent.judge(asked.group, given)
    return settle(answer, rule(answer, policy), usage=usage, by=respondent.judging)


def _of_answer(respondent: Respondent, asked: Asked, answer: str, confidence: float) -> Answer:
    said = Completion(text=answer, model=respondent.settings.name)
    reading = Reading(answer=answer, confidence=confidence, spans={})
    return respondent.worth(asked.group, respondent.strategy, said, reading)
