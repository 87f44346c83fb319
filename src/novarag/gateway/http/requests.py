"""What clients send: checked at the edge, and sorted into what is ours and what is not.

Ours is a request with one question and passages beside it. All else is passed on as it came, or
refused where the client asked for a confidence that it could not get; `NOT_OURS` is the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from novarag.answers.cells.score_names import MOST_SCORES
from novarag.records import Passage, PassageGroup, Question
from novarag.scoring import PassageMeta
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.gateway.settings import LimitSettings

Score = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(min_length=1)]
Signals = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=256)],
        Annotated[float, Field(allow_inf_nan=False)],
    ],
    Field(max_length=MOST_SCORES),
]
"""Scores of the request by name, for a calibration that fuses several."""

Tokens = Annotated[int, Field(ge=1, le=2**31 - 1)]
ID = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$"
_ROLES = frozenset({"system", "developer", "user"})
_DEEPEST = 100  # levels of lists and objects; what goes upstream is written again, which takes 254


class BadRequest(Exception):  # noqa: N818 - as HTTP calls it
    """A request that cannot be served, with the status and the words that say why."""

    def __init__(self, message: str, *, status: int = 400, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param = status, param


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class GivenPassage(_StrictModel):
    """A passage with what is known of it; `date` is what prefer-recent compares."""

    text: Text
    source: str | None = None
    date: str | None = None
    id: str | None = None


class RequestExtension(_StrictModel):
    """What a client says to the gateway itself, in the key `novarag` of its request."""

    passages: list[GivenPassage | Text] = []
    question: str | None = None
    signals: Signals | None = None


class _LooseModel(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class Message(_LooseModel):
    """One message of a chat."""

    role: str
    content: str | list[dict[str, Any]] | None = None


class ChatRequest(_LooseModel):
    """A request for a chat completion, as far as the gateway looks at it."""

    model: Annotated[str, Field(min_length=1, max_length=256)]
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = False
    n: int | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None
    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: float | None = None
    seed: int | None = None
    stream_options: dict[str, Any] | None = None
    novarag: RequestExtension | None = None

    @property
    def signals(self) -> dict[str, float] | None:
        """The scores that came with the request."""
        return None if self.novarag is None else self.novarag.signals


_SHAPES = ("tools", "functions", "response_format", "logprobs", "stop")
_LOOKED_AT = frozenset({*ChatRequest.model_fields, *_SHAPES})
"""Keys of a request that decide what becomes of it."""


class ScoreRequest(_StrictModel):
    """A question, its passages, and a reply in the strategy's form or an answer."""

    model: str
    question: Text
    passages: list[GivenPassage | Text]
    reply: str | None = None
    answer: Text | None = None
    confidence: Score | None = None
    signals: Signals | None = None


class GuardrailExtension(RequestExtension):
    """How a guardrail scores, in the key `novarag` of the proxy's own parameters.

    `kind` says what the model of the proxy gives: a reply in the strategy's form, or an answer
    alone, whose confidence the gateway's model is asked for.
    """

    model: str
    kind: Literal["reply", "answer"] = "reply"


class GuardrailParams(_LooseModel):
    """What the proxy's file adds to each request."""

    novarag: GuardrailExtension


class GuardrailRequest(_LooseModel):
    """A request or a reply that LiteLLM's proxy has checked, as far as the gateway looks at it."""

    input_type: Literal["request", "response"]
    texts: list[str] | None = None
    structured_messages: list[Message] | None = None
    litellm_call_id: Annotated[str, Field(max_length=256)] | None = None
    tool_calls: list[Any] | None = None
    additional_provider_specific_params: GuardrailParams


class FeedbackRequest(_StrictModel):
    """Whether an answer was right, by its id."""

    id: Annotated[str, Field(pattern=ID)]
    verdict: Literal["right", "wrong"]


def parse_body(kind: type[BaseModel], body: bytes) -> Any:  # noqa: ANN401 - an object of that kind
    """Read a body as a request, or raise `BadRequest` that names what is wrong."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadRequest("the body is no JSON") from None
    if not isinstance(content, dict):
        raise BadRequest("the body is no JSON object")
    if body.count(b"[") + body.count(b"{") > _DEEPEST and _is_deep(content):
        raise BadRequest(f"the body is nested more than {_DEEPEST} levels deep")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        one = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(plain_text(str(part), longest=40) for part in one["loc"])
        said = plain_text(one["msg"], longest=200)
        raise BadRequest(f"{place}: {said}", param=place or None) from None


def _is_deep(content: object) -> bool:
    """Say whether lists and objects stand inside each other on more levels than we take."""
    level: list[Any] = [content]
    for _ in range(_DEEPEST):
        parts = [p.values() if isinstance(p, dict) else p for p in level]
        level = [one for part in parts for one in part if isinstance(one, (dict, list))]
        if not level:
            return False
    return True


def rewrite_for_upstream(body: bytes, model: str) -> bytes:
    """Write a request again as it is passed on: as we read it, and with the model's own name.

    A server may read another body than we do: the first of two equal keys, or a key whatever its
    case. So nothing goes on that we did not read, and no other spelling of a key that we look at.
    """
    content: dict[str, Any] = orjson.loads(body)
    kept = {name: value for name, value in content.items() if not _is_variant(name)}
    kept.pop("novarag", None)
    return orjson.dumps(kept | {"model": model})


def _is_variant(name: str) -> bool:
    folded = name.strip().casefold()
    return folded != name and folded in _LOOKED_AT


# --- what is ours ---------------------------------------------------------------------------------


def _has_any(request: ChatRequest, *names: str) -> bool:
    return any(map((request.model_extra or {}).get, names))


def _list_parts(request: ChatRequest) -> list[dict[str, Any]]:
    return [p for m in request.messages if isinstance(m.content, list) for p in m.content]


def _is_one_turn(roles: list[str]) -> bool:
    return roles.count("user") == 1 and _ROLES.issuperset(roles)


NOT_OURS: dict[str, Callable[[ChatRequest], bool]] = {
    "several turns": lambda r: not _is_one_turn([m.role for m in r.messages]),
    "tools": lambda r: _has_any(r, "tools", "functions"),
    "several samples": lambda r: (r.n or 1) != 1,
    "images or sound": lambda r: any(
        p.get("type") not in {"text", "document"} for p in _list_parts(r)
    ),
    "a reply format": lambda r: _has_any(r, "response_format"),
    "log-probabilities": lambda r: _has_any(r, "logprobs"),
    "stop words": lambda r: _has_any(r, "stop"),
}  # fmt: skip
"""Why a request is not ours, by the first reason that holds."""


def find_reason_to_pass(request: ChatRequest, *, searches: bool) -> str | None:
    """Say why a request gets no confidence; None where it can have one."""
    for reason, holds in NOT_OURS.items():
        if holds(request):
            return reason
    given = request.novarag is not None and request.novarag.passages
    if given or searches or any(p.get("type") == "document" for p in _list_parts(request)):
        return None
    return "no passages"


def read_question(request: ChatRequest) -> str:
    """Return the question: the one that is named, or the text of the user's message."""
    if request.novarag is not None and request.novarag.question:
        return request.novarag.question
    content = next(m.content for m in request.messages if m.role == "user")
    if isinstance(content, str):
        return content
    texts = [p.get("text") for p in content or () if p.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise BadRequest("a text part holds no text", param="messages")
    return "\n".join(str(text) for text in texts)


def read_documents(request: ChatRequest) -> list[GivenPassage | str]:
    """Return the passages of a request: those of its key `novarag`, then its document parts."""
    given: list[GivenPassage | str] = list(request.novarag.passages) if request.novarag else []
    for part in _list_parts(request):
        if part.get("type") != "document":
            continue
        text = part.get("text") or _read_document(part)
        if not isinstance(text, str) or not text:
            raise BadRequest("a document part holds no text", param="messages")
        said = {name: str(part[name]) for name in ("source", "date", "id") if _is_text(part, name)}
        given.append(GivenPassage(text=text, **said))
    return given


def read_guarded_texts(request: GuardrailRequest) -> tuple[str, list[GivenPassage | str]]:
    """Return question and passages that a proxy tells of: those that are named, or the messages'.

    The question is in the last message of the user. Its document parts are passages; where it has
    none, its texts before the last one are, and the texts of tools since then.
    """
    guarded = request.additional_provider_specific_params.novarag
    if guarded.question and guarded.passages:
        return guarded.question, list(guarded.passages)
    messages = request.structured_messages or []
    place = max((i for i, m in enumerate(messages) if m.role == "user"), default=None)
    if place is None:
        raise BadRequest("there is no message of a user")
    whole = [text for message in messages for text in _list_texts(message)]
    if request.input_type == "request" and request.texts is not None and request.texts != whole:
        raise BadRequest("the proxy has left out parts of the messages; it keeps parts of text")
    chat = ChatRequest.model_construct(messages=[messages[place]], novarag=guarded)
    if given := read_documents(chat):
        return read_question(chat), given
    *before, last = _list_texts(messages[place]) or [""]
    tools = [text for m in messages[place:] if m.role == "tool" for text in _list_texts(m)]
    return guarded.question or last, [text for text in [*before, *tools] if text.strip()]


def _list_texts(message: Message) -> list[str]:
    if message.content is None or isinstance(message.content, str):
        return [] if message.content is None else [message.content]
    return [text for part in message.content if isinstance(text := part.get("text"), str)]


def _read_document(part: dict[str, Any]) -> object:
    document = part.get("document")
    return document.get("text") if isinstance(document, dict) else document


def _is_text(part: dict[str, Any], name: str) -> bool:
    return isinstance(part.get(name), str)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuestion:
    """One question with its passages, inside the limits."""

    group: PassageGroup
    given: tuple[GivenPassage | PassageMeta, ...]


def parse_question(
    question: str, given: list[GivenPassage | str], limits: LimitSettings
) -> ParsedQuestion:
    """Put a question and its passages together, or refuse what is empty or too much."""
    passages = tuple([PassageMeta(p) if isinstance(p, str) else p for p in given])
    if not question.strip():
        raise BadRequest("the question is empty")
    if len(question) > limits.question:
        raise BadRequest(f"the question is longer than {limits.question:,} characters", status=413)
    if not passages:
        raise BadRequest("there are no passages", param="novarag.passages")
    if len(passages) > limits.passages:
        raise BadRequest(f"there are more than {limits.passages} passages", status=413)
    if max(len(p.text) for p in passages) > limits.passage:
        raise BadRequest(f"a passage is longer than {limits.passage:,} characters", status=413)
    group = PassageGroup(
        question=Question(id="question", text=question),
        passages=tuple([Passage(text=p.text, source=p.source) for p in passages]),
    )
    return ParsedQuestion(group=group, given=passages)
