"""The gateway's OpenAPI document, made of the models that requests are checked by."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import orjson
from pydantic.json_schema import models_json_schema

from novarag.gateway.http import reply_models as replies
from novarag.gateway.http import requests
from novarag.gateway.http.guardrail import GUARDRAIL
from novarag.version import __version__

if TYPE_CHECKING:
    from pydantic import BaseModel

_REF = "#/components/schemas/{model}"
_TEXT = "text/plain"
_KEYS: list[dict[str, list[str]]] = [{}, {"key": []}]

PROBLEMS = {
    400: "The request cannot be served; `error.message` says why, `error.param` where.",
    401: "A key is missing, or is not one of this gateway.",
    403: "The key does not allow this route or this model.",
    404: "There is no such model, answer or route here.",
    413: "The body, the question, a passage or their number is over a limit.",
    422: "The search of the settings file found no passages for this question.",
    429: "The key, or the model's server, is at its limit; `retry-after` says for how long.",
    500: "The gateway itself failed; its log says where.",
    502: "The model's server failed, was cut off, or sent no proper reply.",
    503: "The gateway is full or ends, the model's server is away, or nothing can be kept.",
    504: "There was no answer in time.",
}
_OURS = (400, 401, 403, 404, 413, 429, 500, 503, 504)
_ASKING = (*_OURS, 422, 502)

_VERDICT_HEADERS = {
    "x-novarag-id": "The id of this answer, for feedback.",
    "x-novarag-decision": "The decision; none where the request was passed on.",
    "x-novarag-confidence": "The confidence, where there is one.",
    "x-novarag-evidence": "The state of the evidence, where it was judged.",
    "x-novarag-reason": "Why a request was passed on as it came.",
}

_DECIDED = (requests.ChatRequest, requests.ScoreRequest, requests.GuardrailRequest)

_EVENTS = (
    "Events `data: {ChatChunk}`. The last chunk has `finish_reason` and `novarag`; `data: [DONE]`"
    " follows a whole reply alone. An error after the stream has begun is an event with"
    " `ErrorReply`, and the stream ends there. Events of a request that was passed on are those of"
    " the model's server."
)
_CHAT = (
    "A question with its passages is answered, decided on and told what it is worth. A request of"
    " another kind (several turns, tools, images and so on) goes to the model's server as it came,"
    " and its reply comes back as it is, with the header `x-novarag-decision: none`."
)
_SCORE = (
    "Says what a reply or an answer of somebody else is worth. Give `reply` in the strategy's"
    " form, or `answer` with its stated `confidence`; an answer without one is asked for it."
)
_GUARDRAIL = (
    "LiteLLM's proxy asks here, with `guardrail: generic_guardrail_api`. A request is remembered by"
    " its call's id; its reply is scored as /v1/score does, and passes, passes as the answer alone,"
    " or is blocked. What cannot be scored is blocked."
)
_OPERATORS = "For the machine that the gateway runs on, or for a key of the scope metrics."


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteDocument:
    """One route as the document has it."""

    method: str
    path: str
    summary: str
    about: str = ""
    body: type[BaseModel] | None = None
    found: dict[int, dict[str, Any]] = field(default_factory=dict)
    problems: tuple[int, ...] = ()


def _describe_json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": _refer(model)}}


def _refer(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}


def _describe_words(*words: str) -> dict[str, Any]:
    return {_TEXT: {"schema": {"type": "string", "enum": list(words)}}}


_PASSED_ON = {
    "type": "object",
    "not": {"required": ["novarag"]},
    "description": "The reply of the model's server, as it came.",
}
_CHAT_CONTENT = {
    "application/json": {"schema": {"anyOf": [_refer(replies.ChatCompletion), _PASSED_ON]}},
    "text/event-stream": {
        "schema": {"description": _EVENTS},  # no type: tools hold it against the stream or an event
        "x-item-schema": _refer(replies.ChatChunk),
    },
}

ROUTES = (
    RouteDocument(
        method="post", path="/v1/chat/completions", summary="Answer a question", about=_CHAT,
        body=requests.ChatRequest, found={200: _CHAT_CONTENT}, problems=_ASKING,
    ),
    RouteDocument(
        method="post", path="/v1/score", summary="Score an answer", about=_SCORE,
        body=requests.ScoreRequest, found={200: _describe_json(replies.ScoreReply)},
        problems=(*_OURS, 502),
    ),
    RouteDocument(
        method="post", path="/v1/feedback", summary="Say whether an answer was right",
        about="Taken for answers of the last days that the settings name; the last word counts.",
        body=requests.FeedbackRequest, found={200: _describe_json(replies.FeedbackKept)},
        problems=_OURS,
    ),
    RouteDocument(
        method="post", path=GUARDRAIL, summary="Guard replies of LiteLLM's proxy",
        about=_GUARDRAIL, body=requests.GuardrailRequest,
        found={200: _describe_json(replies.GuardrailReply)}, problems=(*_OURS, 502),
    ),
    RouteDocument(
        method="get", path="/v1/models", summary="List the models",
        found={200: _describe_json(replies.ModelList)}, problems=(401, 403, 429),
    ),
    *(
        RouteDocument(
            method=method, path="/v1/responses", summary="Not spoken here",
            about="Says what to call instead.", problems=(404,),
        )
        for method in ("get", "post")
    ),
    RouteDocument(
        method="get", path="/livez", summary="Whether the process runs",
        found={200: _describe_words("ok")},
    ),
    RouteDocument(
        method="get", path="/readyz", summary="Whether requests are taken",
        found={
            200: _describe_words("ready"),
            503: _describe_words("draining", "keys could not be read yet"),
        },
    ),
    RouteDocument(
        method="get", path="/metrics", summary="Counts for Prometheus",
        about="For keys of the scope metrics, where keys are asked for.",
        found={200: {_TEXT: {"schema": {"type": "string"}}}}, problems=(401, 403),
    ),
    RouteDocument(
        method="get", path="/status", summary="The status page", about=_OPERATORS,
        found={200: {"text/html": {"schema": {"type": "string"}}}}, problems=(403,),
    ),
    RouteDocument(
        method="get", path="/status.json", summary="The status for programs", about=_OPERATORS,
        found={200: {"application/json": {"schema": {"type": "object"}}}}, problems=(403,),
    ),
    RouteDocument(
        method="get", path="/openapi.json", summary="This document",
        found={200: {"application/json": {"schema": {"type": "object"}}}},
    ),
)  # fmt: skip
"""What is served, in the order of the document."""


@cache
def make_document() -> dict[str, Any]:
    """Make the document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = _describe_route(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "The gateway of novarag",
            "version": __version__,
            "description": "Chat completions whose answers carry a confidence that means"
            " something, the state of their evidence, and a decision.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": _write_schemas(),
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key of this gateway, where its settings ask for one.",
                }
            },
        },
    }


@cache
def document_bytes() -> bytes:
    """Write the document as it is served and kept: indented, with an end of line."""
    return orjson.dumps(make_document(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _describe_route(route: RouteDocument) -> dict[str, Any]:
    entry: dict[str, Any] = {"operationId": _name_operation(route), "summary": route.summary}
    if route.about:
        entry["description"] = route.about
    if route.path.startswith(("/v1/", "/beta/", "/metrics", "/status")):
        entry["security"] = _KEYS
    if route.body is not None:
        entry["requestBody"] = {"required": True, "content": _describe_json(route.body)}
    found = {
        status: _describe_reply(route, status, content) for status, content in route.found.items()
    }
    problems = {status: _describe_problem(route, status) for status in route.problems}
    listed = {str(status): one for status, one in sorted({**problems, **found}.items())}
    if route.body is requests.ChatRequest:
        listed["4XX"] = {
            "description": "What the model's server said of a request that was passed on.",
            "content": {"*/*": {"schema": {}}},
        }
    return {**entry, "responses": listed}


def _name_operation(route: RouteDocument) -> str:
    words = route.path.removeprefix("/v1").strip("/").replace(".", "/").split("/")
    return "_".join([route.method, *words])


def _describe_reply(route: RouteDocument, status: int, content: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"description": PROBLEMS.get(status, "Done."), "content": content}
    if route.body in _DECIDED:
        entry["headers"] = {
            name: {"description": about, "schema": {"type": "string"}}
            for name, about in _VERDICT_HEADERS.items()
        }
    return entry


def _describe_problem(route: RouteDocument, status: int) -> dict[str, Any]:
    schema: dict[str, Any] = _refer(replies.ErrorReply)
    if route.body is requests.FeedbackRequest and status == 503:
        schema = {"anyOf": [schema, _refer(replies.FeedbackKept)]}
    entry: dict[str, Any] = {
        "description": PROBLEMS[status],
        "content": {"application/json": {"schema": schema}},
    }
    if status == 401:
        entry["headers"] = {"www-authenticate": {"schema": {"type": "string"}}}
    if status in {429, 503}:
        seconds = {"description": "Seconds to wait.", "schema": {"type": "string"}}
        entry["headers"] = {"retry-after": seconds}
    return entry


def _write_schemas() -> dict[str, Any]:
    """Write the schemas of all models: of requests as they are read, of replies as they are."""
    asked = (*_DECIDED, requests.FeedbackRequest)
    entry = (
        replies.ChatCompletion, replies.ChatChunk, replies.ScoreReply, replies.GuardrailReply,
        replies.FeedbackKept, replies.ModelList, replies.ErrorReply,
    )  # fmt: skip
    named: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = [
        *((model, "validation") for model in asked),
        *((model, "serialization") for model in entry),
    ]
    _, defined = models_json_schema(named, ref_template=_REF)
    schemas: dict[str, Any] = defined["$defs"]
    return dict(sorted(schemas.items()))
