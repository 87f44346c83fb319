"""The nouns of asking: how to sample, what one attempt came to, what came back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from novarag.errors import ServiceError, UsageError
from novarag.prose import Prose, say

if TYPE_CHECKING:
    from novarag.records import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a model is asked to sample; what is None is left to the server.

    `logprobs` asks for the log-probability of each token of a reply, `alternatives` for that many
    tokens which its first token could have been.
    `schema` (a JSON Schema as text) and `regex` ask the server to hold replies to a shape.
    """

    n: int = 1
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    alternatives: int = 0
    schema: str | None = None
    regex: str | None = None

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UsageError(f"ask for at least one sample, not {self.n}")
        if self.temperature < 0:
            raise UsageError(f"a temperature is not negative: {self.temperature}")
        if not 0 <= self.alternatives <= 20 or (self.alternatives and not self.logprobs):
            raise UsageError("alternatives are 0 to 20, and come with log-probabilities")
        if self.schema is not None and self.regex is not None:
            raise UsageError("replies follow a schema or a regex, not both")


GREEDY = Sampling()
"""One sample, the likeliest."""


class ChargeStatus(StrEnum):
    """Whether the server charged for an attempt, as far as one can know from this side."""

    YES = "yes"
    PERHAPS = "perhaps"
    NO = "no"


class Outcome(StrEnum):
    """What became of one attempt."""

    ANSWERED = "answered"
    RATE_LIMITED = "rate limited"
    SERVER_ERROR = "server error"
    TIMED_OUT = "timed out"
    CUT_OFF = "connection lost"
    UNREACHABLE = "unreachable"
    MALFORMED = "malformed reply"
    INCOMPLETE = "incomplete reply"
    REFUSED = "request refused"
    DENIED = "access denied"
    REDIRECTED = "redirected"
    UNKNOWN = "unknown, cut off by a kill"

    @property
    def retryable(self) -> bool:
        """Whether the same request may do better later."""
        return self in _RETRYABLE

    @property
    def paid(self) -> ChargeStatus:
        """Whether the attempt was charged for."""
        if self in {Outcome.ANSWERED, Outcome.INCOMPLETE}:
            return ChargeStatus.YES
        return ChargeStatus.PERHAPS if self in _PERHAPS_PAID else ChargeStatus.NO


_RETRYABLE = frozenset({
    Outcome.RATE_LIMITED, Outcome.SERVER_ERROR, Outcome.TIMED_OUT,
    Outcome.CUT_OFF, Outcome.UNREACHABLE, Outcome.MALFORMED,
})  # fmt: skip
_PERHAPS_PAID = frozenset({
    Outcome.TIMED_OUT, Outcome.CUT_OFF, Outcome.MALFORMED, Outcome.UNKNOWN,
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the server counted them, for one request with all its samples."""

    prompt: int = 0
    completion: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What replies took: requests, and tokens where the server counts them."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million prompt tokens, and for a million tokens of reply."""

    prompt: float
    completion: float

    def of(self, prompt: float, completion: float) -> float:
        """Return what so many tokens cost."""
        return (prompt * self.prompt + completion * self.completion) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request put on the wire. Without an outcome it is about to be sent."""

    id: str
    endpoint: str
    outcome: Outcome | None = None
    detail: str = ""


AttemptListener = Callable[[Attempt], None]
"""Who is told of each attempt: before it is sent, and again if it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The samples that one request brought, and which attempt brought them.

    `remarks` say what was done to them on the way: that our key was taken out.
    """

    completions: tuple[Completion, ...]
    usage: Usage | None = None
    attempt: str = ""
    remarks: tuple[str, ...] = ()


ONE_SAMPLE = say("; this server may want `per_request=1`")
"""How the detail of a failure ends where a server gave fewer samples than it was asked for."""


def read_detail(detail: str) -> Prose:
    """Read the detail of a failure, which is kept as text, with the advice that it ends with.

    >>> read_detail("got 1; this server may want `per_request=1`").parameter
    'per_request'
    """
    found = detail.removesuffix(ONE_SAMPLE)
    return Prose(detail) if found == detail else Prose(found, ONE_SAMPLE)


class CallError(ServiceError):
    """A request failed for good, after as many attempts as it was worth."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        self.outcome, self.detail = outcome, detail
        super().__init__(Prose(f"{outcome}: ", read_detail(detail)), retryable=outcome.retryable)

    def __reduce__(self) -> tuple[object, ...]:
        return CallError, (self.outcome, self.detail)


SIMULATED = "simulated:"
"""How the names of simulated respondents begin."""


def is_simulated(name: str) -> bool:
    """Say whether a model's name is that of a simulated respondent."""
    return name.startswith(SIMULATED)


def simulated_note(name: str) -> list[str]:
    """Say that a respondent was simulated, wherever its answers are reported."""
    said = f"{name} is a simulated respondent: an instrument, not a result."
    return [said] if is_simulated(name) else []
