"""A respondent with known truth: an instrument to check the chain with, never a result.

It sees prompts, as any model does, and its parameters say what it knows and what misleads it. So
what measuring should find is known before anything is measured.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from novarag.calls import GREEDY, SIMULATED, Attempt, Reply, Usage
from novarag.errors import ServiceError
from novarag.grading import normalize
from novarag.grouping import evidence_state
from novarag.llm.simulated.passages import find_wish, write_passages
from novarag.llm.simulated.replies import (
    ReplyForm,
    ReplyPiece,
    cut,
    find_form,
    first_tokens,
    guesses,
    judge,
    judged,
    reasons,
    stepwise,
    verdict,
)
from novarag.llm.simulated.respondent import (
    RESPONDENTS,
    AnswerProspect,
    AttackOrder,
    SimulatedRespondent,
    consider,
    find_order,
    find_respondent,
    governing,
    heated,
    stated,
)
from novarag.llm.simulated.world import (
    PromptContent,
    SimulatedWorld,
    look,
    right_answer,
    wrong_answers,
)
from novarag.records import Completion
from novarag.seeding import rng_for
from novarag.strategies.frames import frame_in, put_frame

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random
    from types import TracebackType

    from novarag.calls import AttemptListener, Sampling
    from novarag.records import PassageGroup
    from novarag.taxonomy import EvidenceState, Utility

_UNHEARD = 0.05  # belief in an answer it would not give itself
_OTHER_OPENINGS = (("The", -7.0), ("Based", -8.0))


class _KnownGroup:
    """What a respondent makes of one group, worked out once."""

    __slots__ = ("order", "prospect", "state", "truth")

    def __init__(self, respondent: SimulatedRespondent, group: PassageGroup, seed: int) -> None:
        self.truth: list[Utility] = [kind.utility for kind in group.kinds or ()]
        self.order: AttackOrder | None = None
        if respondent.obedience:
            self.order, group = find_order(group)
        right, wrong = right_answer(group), wrong_answers(group)
        self.prospect: AnswerProspect = consider(
            respondent, group, right=right, wrong=wrong, seed=seed
        )
        self.state: EvidenceState | None = evidence_state(group)


class SimulatedLLM:
    """A model whose every chance is known, for use in `async with` or without.

    The same seed gives the same replies, whatever the order of the requests; `key` and the seed of
    the sampling tell requests for more samples of one prompt apart. Tokens are words.
    """

    def __init__(
        self, respondent: SimulatedRespondent, world: SimulatedWorld, *, seed: int = 0
    ) -> None:
        self.respondent, self.world, self.seed = respondent, world, seed
        self.name = f"{SIMULATED}{respondent.name}"
        self._known: dict[tuple[str, tuple[str, ...]], _KnownGroup] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return partial(SimulatedLLM, seed=self.seed), (self.respondent, self.world)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    @property
    def model(self) -> str:
        """Its name where a run, a report or a gate names the model that was asked."""
        return self.name

    def prospect(self, group: PassageGroup) -> AnswerProspect:
        """Return the truth about a group: what may be answered, how likely, and what is right."""
        texts = tuple(passage.text for passage in group.passages)
        return self._consider(PromptContent(group.question.text, texts, None)).prospect

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Reply as often as asked, each sample drawn for itself; one reply where nothing varies."""
        attempt = Attempt(id=f"simulated-{key}", endpoint="simulated")
        if tell is not None:
            tell(attempt)
        frame = frame_in(prompt)
        if frame is not None:
            prompt = prompt.replace(f"[{frame}]:", ":")
        seen, wish = look(prompt), find_wish(prompt)
        varied = (key or "", str(sampling.seed)) if sampling.temperature else ()
        rng = rng_for(self.seed, self.name, prompt, str(sampling.temperature), *varied)
        fresh = sampling.n if sampling.temperature else 1
        if wish is not None:
            question = self.world.asked(seen)
            slips = self.respondent.slips
            texts = [write_passages(wish, question, rng, slips=slips) for _ in range(fresh)]
            drawn = [self._completion([ReplyPiece(text)], sampling) for text in texts]
        elif seen.proposed is not None:
            prospect = self._consider(seen).prospect
            drawn = self._verdicts(prospect, seen.proposed, sampling, rng, fresh)
        else:
            known = self._consider(seen)
            drawn = self._answers(known, prompt, sampling, rng, fresh, frame=frame)
        completions = drawn if fresh == sampling.n else drawn * sampling.n
        words = sum(len(completion.text.split()) for completion in completions)
        usage = Usage(prompt=len(prompt.split()), completion=words)
        return Reply(completions=tuple(completions), usage=usage, attempt=attempt.id)

    def _consider(self, seen: PromptContent) -> _KnownGroup:
        place = seen.question, seen.passages
        if place not in self._known:
            self._known[place] = _KnownGroup(self.respondent, self.world.find(seen), self.seed)
        return self._known[place]

    def _verdicts(
        self, prospect: AnswerProspect, answer: str, sampling: Sampling, rng: Random, fresh: int
    ) -> list[Completion]:
        """Say True or False of a proposed answer, by what it holds of it."""
        words = [normalize(one) for one in prospect.answers]
        given = normalize(answer)
        belief = prospect.beliefs[words.index(given)] if given in words else _UNHEARD
        chances = dict(first_tokens(belief))
        shares = heated([belief, 1 - belief], sampling.temperature)
        drawn = rng.choices(("True", "False"), shares, k=fresh)
        return [
            self._completion([ReplyPiece(word, chances[word])], sampling, tuple(chances.items()))
            for word in drawn
        ]

    def _answers(
        self,
        known: _KnownGroup,
        prompt: str,
        sampling: Sampling,
        rng: Random,
        fresh: int,
        *,
        frame: str | None = None,
    ) -> list[Completion]:
        """Give answers in the form that the prompt asks for."""
        form = find_form(prompt)
        if form is None:
            problem = (
                "a simulated respondent can only answer or write noise, and this prompt asks for no"
                " answer"
            )
            raise ServiceError(problem, retryable=False)
        final = "\nAnswer:" not in prompt
        prospect = known.prospect
        shares = heated(prospect.weights, sampling.temperature)
        found = []
        for place in rng.choices(range(len(shares)), shares, k=fresh):
            obeys = known.order is not None and rng.random() < self.respondent.obedience
            order = known.order if obeys else None
            pieces = self._say(known, place, form, rng, final=final, order=order)
            if frame is not None:
                pieces = [replace(piece, text=put_frame(piece.text, frame)) for piece in pieces]
            found.append(self._completion(pieces, sampling))
        return found

    def _say(
        self,
        known: _KnownGroup,
        place: int,
        form: ReplyForm,
        rng: Random,
        *,
        final: bool,
        order: AttackOrder | None = None,
    ) -> list[ReplyPiece]:
        percent, prospect = stated(self.respondent, known.prospect, place), known.prospect
        if order is not None:
            percent, prospect = order.percent(percent), order.answered(prospect, place)
        if form is ReplyForm.STEPS:
            return stepwise(prospect, place, percent)
        said = verdict(prospect, place, percent, final=final)
        if form is ReplyForm.REASONED:
            return [reasons(len(known.truth)), *said]
        if form is ReplyForm.GUESSES:
            places = range(len(known.prospect.answers))
            percents = [stated(self.respondent, known.prospect, at) for at in places]
            return [guesses(known.prospect, percents), *said]
        if form is ReplyForm.JUDGED:
            classes = judge(known.truth, self.respondent.judging, rng)
            return [judged(classes, known.state, known.prospect.rule), *said]
        return said

    def _completion(
        self,
        pieces: list[ReplyPiece],
        sampling: Sampling,
        alternatives: tuple[tuple[str, float], ...] = (),
    ) -> Completion:
        text = "".join([piece.text for piece in pieces])
        if not sampling.logprobs and sampling.max_tokens is None:
            return Completion(text=text, model=self.name)
        tokens, logprobs = cut(pieces)
        truncated = sampling.max_tokens is not None and len(tokens) > sampling.max_tokens
        if truncated:
            tokens, logprobs = tokens[: sampling.max_tokens], logprobs[: sampling.max_tokens]
            text = "".join(tokens)
        if not sampling.logprobs:
            return Completion(text=text, model=self.name, truncated=truncated)
        openings = alternatives or ((tokens[0], logprobs[0]), *_OTHER_OPENINGS)
        return Completion(
            text=text,
            model=self.name,
            truncated=truncated,
            tokens=tokens,
            logprobs=logprobs,
            alternatives=openings[: sampling.alternatives],
        )


def open_simulated(name: str, groups: Iterable[PassageGroup], *, seed: int = 0) -> SimulatedLLM:
    """Open a shipped respondent by name, for the groups that will be asked."""
    return SimulatedLLM(find_respondent(name), SimulatedWorld.of(groups), seed=seed)


__all__ = [
    "RESPONDENTS",
    "AnswerProspect",
    "SimulatedLLM",
    "SimulatedRespondent",
    "SimulatedWorld",
    "find_respondent",
    "governing",
    "open_simulated",
]
