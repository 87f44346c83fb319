"""What a run asks and how replies are read, and how many of them are sampled, and how."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from novarag.calls import Sampling
from novarag.defaults import ASK
from novarag.errors import UsageError
from novarag.noise import NoisePlan
from novarag.strategies import Strategy, find_strategy
from novarag.strategies.follow_up import FollowUp

if TYPE_CHECKING:
    from novarag.config.asking import ReplySettings
    from novarag.ports import Asking
    from novarag.runs import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingMode:
    """What is asked and how its replies are read: a strategy, noise, or an application's form.

    A run remembers it by its `name` and knows it by the hash. With `frame` the labels of every
    prompt carry a mark that is made from a secret of the run.
    """

    asking: Asking
    name: str
    template_hash: str
    frame: bool = False

    def __post_init__(self) -> None:
        if self.frame and not isinstance(self.asking, Strategy):
            raise UsageError.saying("{!r} has no labels, so it takes no `frame`", self.asking.name)

    def framed(self, secret: str | None = None) -> Asking:
        """Return what asks: with frames made from a secret where there are frames."""
        if self.frame and isinstance(self.asking, Strategy):
            return self.asking.framed(secret)
        return self.asking

    def settings(self, samples: SamplingPlan, *, model: str) -> Settings:
        """Say all that decides what a run asks; its identity is the hash of that.

        Args:
            samples: How many samples are asked for, and how.
            model: Name of the model that is asked.
        """
        from novarag.runs import Settings

        return Settings(
            strategy=self.name, template_hash=self.template_hash, model=model,
            revision=samples.revision, samples=samples.sampling.n,
            per_request=samples.per_request, sampling=replace(samples.sampling, n=1),
            shard_size=samples.shard_size, structured=samples.structured,
            noise=self.asking if isinstance(self.asking, NoisePlan) else None,
        )  # fmt: skip


def strategy_mode(strategy: str | Strategy | FollowUp, *, frame: bool = False) -> AskingMode:
    """Ask by a strategy or a follow-up; a run remembers it by the name it was given by."""
    found = strategy if isinstance(strategy, FollowUp) else find_strategy(strategy)
    name = strategy if isinstance(strategy, str) else strategy.name
    return AskingMode(asking=found, name=name, template_hash=found.template.hash, frame=frame)


def noise_mode(noising: NoisePlan) -> AskingMode:
    """Ask for passages that mislead, distract or agree."""
    return AskingMode(asking=noising, name=noising.name, template_hash=noising.fingerprint)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """How many replies to a group are sampled (`sampling.n`) and how, and in which portions.

    `per_request` samples are asked for in one request, None asks for all at once; `shard_size`
    questions are finished as a whole. With `structured` the server holds replies to their form.
    """

    sampling: Sampling = field(default_factory=Sampling)
    per_request: int | None = None
    shard_size: int = ASK.shard_size
    revision: str | None = None
    structured: bool = False


def sampling_plan(
    replies: ReplySettings, asking: Asking, sampling: Sampling, *, k: int | None = None
) -> SamplingPlan:
    """Plan samples: `sampling` as the run needs it, the rest as settings of `replies` have it.

    Args:
        replies: What a file of settings says of replies.
        asking: What is asked; structured replies are held to the form of a strategy.
        sampling: How many samples, at which temperature, with which details.
        k: Passages of every group, where replies are held to a form for as many.
    """
    form = None
    if replies.structured and isinstance(asking, Strategy) and k is not None:
        form = asking.pattern(k, step_length=replies.step_length)
    most = sampling.max_tokens or replies.max_tokens
    return SamplingPlan(
        sampling=replace(
            sampling, top_p=replies.top_p, seed=replies.seed, max_tokens=most, regex=form
        ),
        per_request=replies.per_request,
        shard_size=replies.shard_size,
    )
