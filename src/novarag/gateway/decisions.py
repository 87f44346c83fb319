"""From a question with passages to a decision: strategy, reader, calibration, gate, policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

from novarag.calibration.calibration_file import score_name
from novarag.calls import CallError, Sampling
from novarag.errors import UsageError
from novarag.flows.calibrate import as_calibration
from novarag.flows.gate import as_gate
from novarag.gateway.held_upstream import FORM, HeldUpstream
from novarag.gateway.settings import policy_settings
from novarag.gateway.upstream import UpstreamRefused, UpstreamUnavailable
from novarag.llm.wire import read_reply, without_keys
from novarag.scoring import Exchange, Scorer
from novarag.scoring.policy import Action, settle
from novarag.scoring.second_asking import FirstAsking, PolicySettings
from novarag.strategies import CLOSED_BOOK, STRATEGIES, Strategy
from novarag.strategies.follow_up import GIVEN_ANSWER, about_answer, propose
from novarag.strategies.reply_form import form_of

if TYPE_CHECKING:
    from novarag.calls import Usage
    from novarag.gateway.http.requests import ChatRequest, ParsedQuestion
    from novarag.gateway.settings import ModelSettings
    from novarag.gateway.upstream import UpstreamClient
    from novarag.records import Completion, PassageGroup
    from novarag.scoring import Answer
    from novarag.scoring.second_asking import SecondAskingPolicy
    from novarag.strategies.frames import FramedStrategy

CHAT = "/chat/completions"
_KEPT = ("temperature", "top_p", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    """What is done about one question: the answer with its decision, and who gave it.

    `shown` numbers the passages that the answer rests on, where the policy left some out. `model`
    and `prompt` (its hash) got the answer, and are empty where somebody else asked for it. `first`
    is the first answer of the model that was asked, where the policy had another one asked for.
    """

    answer: Answer
    usage: Usage | None = None
    shown: tuple[int, ...] | None = None
    model: str = ""
    prompt: str = ""
    first: Answer | None = None

    @classmethod
    def by(cls, respondent: ModelRespondent, answer: Answer, usage: Usage | None = None) -> Self:
        """Make the decision about the answer of a model that was asked."""
        prompt = respondent.strategy.template.hash
        return cls(answer=answer, usage=usage, model=respondent.name, prompt=prompt)

    @property
    def text(self) -> str | None:
        """The answer where it may be given, else None."""
        return self.answer.answer if self.answer.decision == "answer" else None


class ModelRespondent:
    """A model of the settings file, put together once: it asks, reads and scores."""

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        upstream: UpstreamClient,
        strategy: Strategy | None = None,
    ) -> None:
        self.name, self.settings, self.upstream = name, settings, upstream
        self.strategy = strategy or _find_strategy(settings.strategy)
        self._framed = self.strategy.framed() if settings.frame else None
        self.held = HeldUpstream(upstream, settings.name)
        made = None if settings.calibration is None else as_calibration(settings.calibration)
        gate = None if settings.gate is None else as_gate(settings.gate)
        self.calibration, self.calibration_name = made, score_name(made)
        self.scorer = Scorer(
            self.strategy, made, gate, settings.policy,
            source=settings.name, other_source=settings.other_source,
        )  # fmt: skip

    @property
    def policy_settings(self) -> PolicySettings:
        """What policies are told about this model."""
        return policy_settings(self.name, self.settings)

    def _with_strategy(self, strategy: Strategy) -> ModelRespondent:
        """Return the same model with another prompt, whose confidence is as stated."""
        bare = self.settings.model_copy(update={"calibration": None, "gate": None})
        return ModelRespondent(self.name, bare, self.upstream, strategy)

    def prepare(self) -> FramedStrategy | Strategy:
        """Return the strategy for one request, with labels of its own where they are framed."""
        return self.strategy if self._framed is None else self._framed.once()

    def body(
        self, group: PassageGroup, strategy: FramedStrategy | Strategy, request: ChatRequest | None
    ) -> dict[str, Any]:
        """Write the request to the model: its instructions kept, the question in our form."""
        kept = [m for m in (request.messages if request else ()) if m.role in _INSTRUCTIONS]
        content: dict[str, Any] = {
            "model": self.settings.name,
            "messages": [
                *(m.model_dump(exclude_none=True) for m in kept),
                {"role": "user", "content": strategy.render(group).text},
            ],
            "temperature": 0.0,
            "max_tokens": self._most_tokens(request),
        }
        if request is not None:
            content |= {n: v for n in _KEPT if (v := getattr(request, n)) is not None}
        form = form_of(strategy, group) if self.settings.structured else None
        if form is not None:
            content[FORM] = {"regex": form}
        if self.scorer.needs_logprobs:
            content["logprobs"] = True
        return content

    def _most_tokens(self, request: ChatRequest | None) -> int:
        """Leave room for the form around an answer: a client's limit is on what it will see."""
        asked = None if request is None else request.max_completion_tokens or request.max_tokens
        return self.settings.max_tokens + (asked or 0)

    async def ask(
        self, group: PassageGroup, request: ChatRequest | None = None
    ) -> tuple[Answer, Usage | None]:
        """Ask once, and say what the answer is worth."""
        exchange, usage = await self._exchange(group, request)
        return self.scorer.score(exchange), usage

    async def ask_again(
        self, group: PassageGroup, request: ChatRequest | None
    ) -> tuple[Answer, Usage | None]:
        """Ask because a policy wants it; the answer must pass the gate, whatever the policy."""
        exchange, usage = await self._exchange(group, request)
        return self.scorer.without_policy().score(exchange), usage

    async def _exchange(
        self, group: PassageGroup, request: ChatRequest | None
    ) -> tuple[Exchange, Usage | None]:
        strategy = self.prepare()
        completion, usage = await self._complete(self.body(group, strategy, request))
        signals = None if request is None else request.signals
        return Exchange(group=group, completion=completion, asking=strategy, signals=signals), usage

    async def judge(self, group: PassageGroup, answer: str) -> tuple[Answer, Usage | None]:
        """Ask for the confidence in an answer that was given; it is as stated."""
        judge, about = self.judging, propose(group, answer)
        strategy = judge.prepare()
        completion, usage = await self._complete(judge.body(about, strategy, None))
        reading = strategy.read(completion.text, group=about, truncated=completion.truncated)
        exchange = Exchange(
            group=group, completion=completion, asking=strategy,
            reading=about_answer(reading, answer),
        )  # fmt: skip
        return judge.scorer.score(exchange), usage

    @cached_property
    def judging(self) -> ModelRespondent:
        """The same model, asked about answers that somebody else gave."""
        return self._with_strategy(GIVEN_ANSWER)

    @cached_property
    def closed_book(self) -> ModelRespondent:
        """The same model, asked without passages."""
        return self._with_strategy(CLOSED_BOOK)

    async def _complete(self, content: dict[str, Any]) -> tuple[Completion, Usage | None]:
        """Send a request to the model's server; return its reply without our keys."""
        reply = await self.held.post(CHAT, content)
        if reply.status != 200:
            raise make_refusal(reply.status, reply.after)
        sampling = _make_sampling(content["max_tokens"])
        try:
            completions, usage = read_reply(reply.body, sampling, self.settings.name)
        except CallError as error:
            raise UpstreamUnavailable(
                f"the model's server sent no proper reply: {error.detail}"
            ) from None
        self.held.heard(content, completions[0])
        return without_keys(completions[0], self.upstream.secrets), usage


_INSTRUCTIONS = frozenset({"system", "developer"})


@lru_cache(maxsize=64)
def _make_sampling(max_tokens: int) -> Sampling:
    return Sampling(max_tokens=max_tokens)


def make_refusal(status: int, after: float | None) -> UpstreamRefused:
    """Say that the model's server refused what we sent; a full server stays a full server."""
    if status == 429:
        wait = 1.0 if after is None else after
        return UpstreamRefused("the model's server is at its limit", status=429, after=wait)
    return UpstreamRefused(f"the model's server refused the request (HTTP {status})")


class Decider:
    """All respondents of a settings file: asks, and does what the policies say."""

    def __init__(self, respondents: dict[str, ModelRespondent]) -> None:
        self._respondents = respondents

    async def make_decision(
        self, name: str, asked: ParsedQuestion, request: ChatRequest | None
    ) -> PolicyDecision:
        """Answer one question, or say what is done instead."""
        respondent = self._respondents[name]
        answer, usage = await respondent.ask(asked.group, request)
        policy = None if answer.action is None else answer.action.second_asking
        if policy is None:
            return PolicyDecision.by(respondent, answer, usage)
        made = await self._ask_again(respondent, asked, answer, policy, request)
        return replace(made, first=answer, usage=_add_usage(usage, made.usage))

    async def _ask_again(
        self,
        respondent: ModelRespondent,
        asked: ParsedQuestion,
        first: Answer,
        policy: SecondAskingPolicy,
        request: ChatRequest | None,
    ) -> PolicyDecision:
        """Ask once more, as the policy plans; what comes back must pass the gate by itself."""
        plan = policy.plan(
            FirstAsking(answer=first, passages=asked.given, settings=respondent.policy_settings)
        )
        if plan is None:
            why = f"{first.reason}; {policy.otherwise}"
            return PolicyDecision.by(respondent, settle(first, Action.ABSTAIN, why))
        group, shown = asked.group, plan.passages
        other = respondent if plan.model is None else self._respondents[plan.model]
        if shown is not None:
            group = replace(group, passages=tuple(group.passages[i] for i in shown))
            other = other if shown else other.closed_book
        again, usage = await other.ask_again(group, request)
        reason = f"{first.reason}: {plan.told}; {_explain_second(again)}"
        final = Action.ABSTAIN if again.decision == "abstain" else Action.ANSWER
        final_answer = replace(settle(again, final, reason), action=first.action)
        if shown == ():  # what was found of the passages that were left out
            final_answer = replace(final_answer, evidence=first.evidence)
        return replace(PolicyDecision.by(other, final_answer, usage), shown=shown)


def _add_usage(first: Usage | None, second: Usage | None) -> Usage | None:
    """Add up what two askings took."""
    if first is None or second is None:
        return first or second
    return replace(
        first,
        prompt=first.prompt + second.prompt,
        completion=first.completion + second.completion,
    )


def _explain_second(again: Answer) -> str:
    """Say what decided about the answer to a question that was asked again."""
    if again.answer is not None and again.decision is None:
        return "no gate holds the second answer back"
    return again.reason


def _find_strategy(name: str) -> Strategy:
    from novarag.strategies import find_strategy

    if ":" in name:
        raise UsageError(f"a gateway takes strategies by name ({', '.join(STRATEGIES)})")
    return find_strategy(name)
