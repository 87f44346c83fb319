"""The shapes of what the gateway replies, for its OpenAPI document; replies are not made of them.

Fields may be added in later versions, so none of these forbids what it does not know.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from novarag.gateway.http.requests import ID, Score
from novarag.records import Flaw
from novarag.scoring.policy import Action
from novarag.taxonomy import EvidenceState, Utility

DecisionWord = Literal["answer", "abstain", "clarify"]
Count = Annotated[int, Field(ge=0)]


class PassageVerdict(BaseModel):
    """What was said of one passage, in the order of the request."""

    judgment: Utility | None = Field(description="None where the strategy judges no passages.")
    source: str | None
    id: str | None
    shown: bool = Field(description="Whether the answer rests on a prompt that held this passage.")


class Verdict(BaseModel):
    """What an answer is worth."""

    version: Literal[1]
    id: Annotated[str, Field(pattern=ID)]
    confidence: Score | None = Field(
        description="The probability of being right; as stated where `calibrated` is false; none"
        " where the reply could not be read."
    )
    interval: tuple[Score, Score] | None = Field(description="90 % interval of the confidence.")
    stated: Score | None = Field(description="The confidence in the model's own words.")
    calibrated: bool
    evidence: EvidenceState | None
    decision: DecisionWord
    action: Action = Field(description="What the policy did.")
    reason: str
    passages: list[PassageVerdict]
    flaw: Flaw | None = Field(description="Why a reply could not be read.")
    notes: list[str]
    settings: str = Field(description="The version of the settings it was decided by.")


class ScoreReply(Verdict):
    """A verdict, and the answer if it may be given."""

    answer: str | None


class GuardrailReply(BaseModel):
    """What LiteLLM's proxy is to do with a request or a reply."""

    action: Literal["NONE", "BLOCKED", "GUARDRAIL_INTERVENED"]
    texts: list[str] | None = Field(None, description="The answer alone, in place of the reply.")
    blocked_reason: str | None = Field(None, description="The operator's words, and why.")


class AssistantMessage(BaseModel):
    """A message of the assistant: the answer alone, or the operator's words."""

    role: Literal["assistant"]
    content: str


class Choice(BaseModel):
    """The one choice of a completion."""

    index: Literal[0]
    message: AssistantMessage
    logprobs: None
    finish_reason: Literal["stop"]


class TokenUsage(BaseModel):
    """Tokens that the model's server said it took; 0 where it did not say."""

    prompt_tokens: Count
    completion_tokens: Count
    total_tokens: Count


class ChatCompletion(BaseModel):
    """A chat completion that was decided on."""

    id: str
    object: Literal["chat.completion"]
    created: Count
    model: str
    choices: Annotated[list[Choice], Field(min_length=1, max_length=1)]
    usage: TokenUsage
    novarag: Verdict


class Delta(BaseModel):
    """What a chunk adds; the last one repeats the verdict for clients that look here alone."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    novarag: Verdict | None = None


class ChunkChoice(BaseModel):
    """The one choice of a chunk."""

    index: Literal[0]
    delta: Delta
    logprobs: None
    finish_reason: Literal["stop"] | None


class ChatChunk(BaseModel):
    """One event of a streamed completion; the verdict stands where `finish_reason` does."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: Count
    model: str
    choices: Annotated[list[ChunkChoice], Field(max_length=1)]
    usage: TokenUsage | None = None
    novarag: Verdict | None = None


class FeedbackKept(BaseModel):
    """What was said of an answer, and whether it could be kept."""

    id: Annotated[str, Field(pattern=ID)]
    verdict: Literal["right", "wrong"]
    kept: bool
    confirmed: bool = Field(
        description="Whether the answer was found. Where the database is away it cannot be looked"
        " for; then feedback counts if there is one."
    )


class ListedModel(BaseModel):
    """A model that clients may name."""

    id: str
    object: Literal["model"]
    owned_by: Literal["novarag"]


class ModelList(BaseModel):
    """All models of the settings file."""

    object: Literal["list"]
    data: list[ListedModel]


class Problem(BaseModel):
    """What is wrong, as OpenAI's clients read it."""

    message: str
    type: str
    param: str | None
    code: str


class ErrorReply(BaseModel):
    """An error; in a stream it is the last event, and no `[DONE]` follows."""

    error: Problem
