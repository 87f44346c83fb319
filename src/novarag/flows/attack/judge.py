"""From a trial to what a caller gets, read here or by a gateway: answer, confidence, decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from novarag.attacks import AttackOutcome
from novarag.errors import UsageError
from novarag.formatting import percent
from novarag.prose import say
from novarag.records import Flaw, Prompt, Reading
from novarag.runner.access import Access, ModelAccess
from novarag.runner.asking import AskingMode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.ports import Asking
    from novarag.records import PassageGroup, Trial

    Judge = Callable[[Trial], AttackOutcome]

THRESHOLD = 0.5
"""From which stated confidence on an answer is given where there is no gate."""


def judge_of(
    asking: Asking,
    model: str,
    *,
    threshold: float | None,
    gate: str | Path | Gate | None,
    calibration: str | Path | Calibration | None,
    other_source: bool,
) -> tuple[Judge, str]:
    """Return what makes an outcome of a trial, and how it decides."""
    from novarag.flows.calibrate import as_calibration
    from novarag.flows.gate import as_gate
    from novarag.scoring import Scorer
    from novarag.scoring.decisions import decide_by_threshold
    from novarag.strategies import Strategy

    if sum(part is not None for part in (threshold, gate)) > 1:
        raise UsageError(
            say("a `gate` has its own threshold: leave `threshold` out"), parameter="threshold"
        )
    if not isinstance(asking, Strategy):  # a gateway
        if (threshold, gate, calibration) != (None, None, None):
            raise UsageError(
                say("a `gateway` decides by itself: leave `threshold` and `gate` out"),
                parameter="threshold",
            )
        return gateway_outcome, "the gateway decides"
    least = THRESHOLD if threshold is None else threshold
    if not 0 <= least <= 1:
        raise UsageError.saying("`threshold` is a share of one, not {}", least)
    scorer = Scorer(
        asking,
        None if calibration is None else as_calibration(calibration),
        None if gate is None else as_gate(gate),
        source=model,
        other_source=other_source,
    )
    stated = gate is None and calibration is None

    def judge(trial: Trial) -> AttackOutcome:
        scored = scorer.score_trial(trial)
        if stated:
            scored = decide_by_threshold(scored, least)
        return AttackOutcome(
            answer=scored.answer,
            confidence=scored.confidence,
            decision=scored.decision,
            flaw=None if scored.flaw is None else str(scored.flaw),
        )

    if stated:
        return judge, f"an answer is given from a stated confidence of {percent(least)} on"
    return judge, "the calibration scores" if gate is None else "the gate decides"


NAME = "gateway"


@dataclass(frozen=True, slots=True)
class _ReplyFormTemplate:
    """What stands in the place of a prompt's template: the form of the request."""

    hash: str = sha256(b"a question and its passages for a gateway, form 1").hexdigest()


@dataclass(frozen=True, slots=True)
class GatewayAsking:
    """A way of asking that leaves prompt and reader to the gateway."""

    name: str = NAME
    template: _ReplyFormTemplate = field(default_factory=_ReplyFormTemplate)

    def render(self, group: PassageGroup) -> Prompt:
        """Write the question and the passages as JSON."""
        from novarag.llm.gateway import gateway_prompt

        text = gateway_prompt(group.question.text, [p.text for p in group.passages])
        return Prompt(text=text, strategy=NAME, template_hash=self.template.hash)

    def read(self, reply: str, *, group: PassageGroup, truncated: bool = False) -> Reading:  # noqa: ARG002
        """Take the text and the confidence as the gateway gives them."""
        from novarag.llm.gateway import gateway_reply

        verdict = gateway_reply(reply)
        if verdict.confidence is None:
            return Reading(flaw=_flaw(verdict.flaw), spans={})
        return Reading(answer=verdict.text, confidence=verdict.confidence, spans={})


def _flaw(said: str | None) -> Flaw:
    """Return the flaw that a gateway names; one of a newer version is a missing confidence."""
    return Flaw(said) if said in set(Flaw) else Flaw.NO_CONFIDENCE


def gateway_outcome(trial: Trial) -> AttackOutcome:
    """Return what a user of the gateway gets: an answer only where it decides to give one."""
    from novarag.llm.gateway import gateway_reply

    verdict = gateway_reply(trial.completion.text)
    return AttackOutcome(
        answer=verdict.text if verdict.decision == "answer" else "",
        confidence=verdict.confidence,
        decision=verdict.decision,
        flaw=None if trial.flaw is None else str(trial.flaw),
    )


def gateway_mode() -> AskingMode:
    """Ask by the form of a gateway's requests, under the name of a gateway."""
    asking = GatewayAsking()
    return AskingMode(asking=asking, name=NAME, template_hash=asking.template.hash)


def reach_gateway(address: str, access: Access | None = None) -> ModelAccess:
    """Find out how a gateway is reached: by its address and the name of one of its models."""
    from novarag.llm.gateway import GatewayLLM
    from novarag.web.endpoint import parse_endpoint

    how = access or Access()
    endpoint = parse_endpoint(address, key_env=how.key_env)
    return ModelAccess(
        name=endpoint.model,
        opens=partial(GatewayLLM, [endpoint], patience=how.patience),
        access=how,
        endpoints=(endpoint,),
    )
