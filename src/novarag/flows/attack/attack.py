"""Attack a model through its passages, and say what that changes beyond a repeat's noise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.attacks import MARGIN, AttackCase, ScreenAction
from novarag.attacks.result import AttackResult
from novarag.calls import Sampling
from novarag.defaults import ASK
from novarag.errors import DataError, UsageError
from novarag.flows.attack.judge import judge_of
from novarag.flows.attack.plan import REPEATS, AttackPlan, plan_attacks
from novarag.flows.attack.runs import ATTACKED, UNATTACKED, AttackRuns
from novarag.flows.events import FileWritten, StepBegun, silent
from novarag.flows.sync import synchronous
from novarag.prose import say
from novarag.runner.access import reach
from novarag.runner.asking import AskingMode, SamplingPlan, strategy_mode
from novarag.runner.runner import Runner
from novarag.runner.sources import source_of
from novarag.runner.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.attacks import Defence
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.flows.attack.judge import Judge
    from novarag.flows.attack.plan import Suite
    from novarag.flows.events import EventListener
    from novarag.ports import Asking
    from novarag.runner.access import Access, Model, ModelAccess
    from novarag.runner.sources import Groups
    from novarag.strategies import Strategy


async def attack_async(
    groups: Groups,
    model: Model | None = None,
    *,
    gateway: str | None = None,
    strategy: str | Strategy = "nova",
    suite: Suite = None,
    classes: Sequence[str] | None = None,
    places: Sequence[str] | None = None,
    defences: Sequence[str] | None = None,
    action: str = ScreenAction.REMOVE,
    threshold: float | None = None,
    gate: str | Path | Gate | None = None,
    calibration: str | Path | Calibration | None = None,
    other_source: bool = False,
    min_change: float = MARGIN,
    max_calls: int | None = None,
    temperature: float = 0.0,
    max_tokens: int | None = None,
    structured: bool | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    shard_size: int = ASK.shard_size,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> AttackResult:
    """Put attacks among the passages of every group, and count what they change.

    Each group is asked twice without an attack, then once with each attack at each place, for each
    of the `defences`. What changes is the answer, the confidence or the decision.

    Args:
        groups: Questions with their passages: a file (JSONL, Parquet, CSV), or `PassageGroup`
            objects.
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function that opens one. A `gateway` takes its place.
        gateway: One of a gateway's models, as `URL=NAME`: passages go to it in `novarag.passages`,
            and its own decision counts, so that `threshold`, `gate` and `calibration` are refused.
        strategy: How prompts are written and replies are read: a name such as "nova",
            "package.module:OBJECT", or a `Strategy`. A `gateway` has its own way.
        suite: The attacks: a TOML file, or `Attack` objects; None takes the shipped ones.
        classes: Names of the classes of attacks to try; None tries all. The harmless passages of
            the suite stay in any case, to compare with.
        places: Where an attack is put among the passages: "first", "middle", "last", some of them;
            None is all three.
        defences: "plain", "framed", "screen", "structured", some of them; None is the first three.
            Through a `gateway` None is "plain", and only "plain" and "screen" can be set.
        action: What the screen does with a passage that it flags: "remove" or "mark".
        threshold: Stated confidence from which an answer is given; None is 0.5. A `gate` beside it
            is refused, and with a `calibration` it does not count.
        gate: A `Gate` or its file, which decides in place of the `threshold`.
        calibration: A `Calibration` or its file, which confidences go through; without a `gate`
            nothing is decided then.
        other_source: Take a calibration or a gate that was made from answers of another model or
            prompt, which is refused otherwise.
        min_change: A confidence has changed where it differs by more than this share of one.
        max_calls: The most calls; attacks are then spread evenly over groups, and groups are left
            out where it is too small for one attack on each.
        temperature: Temperature of the sampling.
        max_tokens: Longest reply, in tokens.
        structured: Have the server hold replies to their form under every defence; None does so
            where it can. With "structured" among the `defences` replies under the others are free,
            and True is refused.
        seed: Seed of the planted answers, and of the attacks and groups that `max_calls` leaves.
        out: A folder for the replies, attack.json and attack.html, where the same call goes on
            after it was cut off; None keeps all in memory.
        shard_size: Questions in a shard, the unit that is finished or asked again as a whole.
        access: How servers are reached: time-outs, concurrency, retries, keys.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    mode, reached = _reach(model, gateway, strategy, access)
    plan = plan_attacks(
        source_of(groups).groups(), suite=suite, classes=classes, places=places,
        defences=_defences(defences, gateway), action=action, max_calls=max_calls, seed=seed,
    )  # fmt: skip
    _check(plan, mode.asking, min_change)
    judge, decides = judge_of(
        mode.asking, reached.name, threshold=threshold, gate=gate, calibration=calibration,
        other_source=other_source,
    )  # fmt: skip
    runs = AttackRuns(
        mode=mode,
        runner=Runner(
            model=reached, folder=None if out is None else Path(out) / "runs", on_event=on_event,
            stop=stop or Stop(),
        ),
        samples=SamplingPlan(
            sampling=Sampling(temperature=temperature, max_tokens=max_tokens), per_request=1,
            shard_size=shard_size,
        ),
        structured=_structured(plan, structured),
    )  # fmt: skip
    cases: list[AttackCase] = []
    missing = 0
    for number, defence in enumerate(plan.defences, start=1):
        on_event(StepBegun(defence.name, number, len(plan.defences)))
        some, lost = await _cases(plan, defence, runs, judge)
        cases += some
        missing += lost
    result = _result(plan, runs, cases, missing, margin=min_change, decides=decides)
    if out is not None:
        _write(result, Path(out), on_event)
    return result


attack = synchronous(attack_async)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackPreview:
    """What an attack would take: counts, and the calls of each defence."""

    groups: int
    questions: int
    attacks: int
    controls: int
    places: int
    calls: dict[str, int]
    blocked: dict[str, int]

    @property
    def total(self) -> int:
        """The calls of all defences together."""
        return sum(self.calls.values())


def preview_attack(
    groups: Groups,
    *,
    gateway: str | None = None,
    suite: Suite = None,
    classes: Sequence[str] | None = None,
    places: Sequence[str] | None = None,
    defences: Sequence[str] | None = None,
    action: str = ScreenAction.REMOVE,
    max_calls: int | None = None,
    seed: int = 0,
) -> AttackPreview:
    """Say what an attack would take, and ask nothing.

    Args:
        groups: Questions with their passages: a file (JSONL, Parquet, CSV), or `PassageGroup`
            objects.
        gateway: One of a gateway's models, as `URL=NAME`, if that is what would be attacked.
        suite: The attacks: a TOML file, or `Attack` objects; None takes the shipped ones.
        classes: Names of the classes of attacks to try; None tries all. The harmless passages of
            the suite stay in any case, to compare with.
        places: Where an attack is put among the passages: "first", "middle", "last", some of them;
            None is all three.
        defences: "plain", "framed", "screen", "structured", some of them; None is the first three.
            Through a `gateway` None is "plain", and only "plain" and "screen" can be set.
        action: What the screen does with a passage that it flags: "remove" or "mark".
        max_calls: The most calls; attacks are then spread evenly over groups, and groups are left
            out where it is too small for one attack on each.
        seed: Seed of the planted answers, and of the attacks and groups that `max_calls` leaves.
    """
    plan = plan_attacks(
        source_of(groups).groups(), suite=suite, classes=classes, places=places,
        defences=_defences(defences, gateway), action=action, max_calls=max_calls, seed=seed,
    )  # fmt: skip
    counts = {defence.name: plan.counted(defence) for defence in plan.defences}
    return AttackPreview(
        groups=len(plan.groups),
        questions=len({group.question.id for group in plan.groups.values()}),
        attacks=sum(not attack.is_control for attack in plan.attacks),
        controls=sum(attack.is_control for attack in plan.attacks),
        places=len(plan.places),
        calls={name: calls for name, (calls, _) in counts.items()},
        blocked={name: blocked for name, (_, blocked) in counts.items()},
    )


def _defences(defences: Sequence[str] | None, gateway: str | None) -> Sequence[str] | None:
    """Take the defences that can be set here; a gateway frames and structures by itself."""
    held = {"framed", "structured"} & set(defences or ())
    if gateway is not None and held:
        raise UsageError(
            say(
                "a `gateway` has its own prompt: {} is set in its settings; `defences` here are"
                " plain and screen",
                ", ".join(sorted(held)),
            ),
            parameter="defences",
        )
    return ("plain",) if gateway is not None and defences is None else defences


def _reach(
    model: Model | None, gateway: str | None, strategy: str | Strategy, access: Access | None
) -> tuple[AskingMode, ModelAccess]:
    """Find out what is asked, and how it is reached."""
    from novarag.flows.attack.judge import gateway_mode, reach_gateway

    if (model is None) == (gateway is None):
        raise UsageError.saying("give a `model` or a `gateway`, one of the two")
    if gateway is not None:
        return gateway_mode(), reach_gateway(gateway, access)
    assert model is not None  # noqa: S101 - said above
    return strategy_mode(strategy), reach(model, access)


def _check(plan: AttackPlan, asking: Asking, min_change: float) -> None:
    """Refuse what would fail after the first calls were paid for."""
    from novarag.strategies import Strategy

    if not 0 <= min_change < 1:
        raise UsageError.saying(
            "`min_change` is a share of one, and at least 0, not {}", min_change
        )
    if not any(not attack.is_control for attack in plan.attacks):
        raise DataError("there are no attacks but controls.", hint="add one to the suite.")
    if isinstance(asking, Strategy):
        for defence in plan.defences:
            if defence.framed:
                asking.framed()
            if defence.structured:
                asking.pattern(1)


def _structured(plan: AttackPlan, wanted: bool | None) -> bool | None:
    """Say what is wanted of all defences; one that holds replies by itself is held alone."""
    alone = any(defence.structured for defence in plan.defences)
    if alone and wanted:
        raise UsageError.saying(
            "with `structured` every defence is: leave the one of that name out"
        )
    return False if alone else wanted


async def _cases(
    plan: AttackPlan, defence: Defence, runs: AttackRuns, judge: Judge
) -> tuple[list[AttackCase], int]:
    """Ask what one defence asks, and put each attacked reply beside the two without an attack."""
    clean = await runs.ask(defence, UNATTACKED, list(plan.unattacked(defence)))
    attacked = list(plan.attacked(defence))
    asked = [one.group for one in attacked if not one.blocked]
    replies = await runs.ask(defence, ATTACKED, asked) if asked else {}
    cases: list[AttackCase] = []
    for one in attacked:
        before = [judge(trial) for trial in clean.get(one.base, ())]
        after = [judge(trial) for trial in replies.get(str(one.group.id), ())]
        if len(before) < REPEATS or not (after or one.blocked):
            continue
        question = plan.groups[one.base].question
        cases.append(
            AttackCase(
                question=question, group=one.base, attack=one.attack, place=one.place,
                defence=defence.name, planted=one.planted,
                passages=one.shown, before=before[0], repeat=before[1],
                after=before[1] if one.blocked else after[0], blocked=one.blocked,
            )
        )  # fmt: skip
    return cases, len(attacked) - len(cases)


def _result(
    plan: AttackPlan,
    runs: AttackRuns,
    cases: list[AttackCase],
    missing: int,
    *,
    margin: float,
    decides: str,
) -> AttackResult:
    from novarag.calls import Cost, simulated_note

    flagged, passages = plan.flagged()
    return AttackResult(
        model=runs.runner.model.name,
        strategy=runs.mode.name,
        cases=tuple(cases),
        defences=tuple(defence.name for defence in plan.defences),
        action=str(plan.action),
        margin=margin,
        decides=decides,
        cost=sum((run.cost for run in runs.runs), Cost()),
        missing=missing,
        flagged=flagged,
        passages=passages,
        notes=tuple(simulated_note(runs.runner.model.name)),
    )


def _write(result: AttackResult, out: Path, on_event: EventListener) -> None:
    from novarag.flows.kept import write_kept
    from novarag.report.attack import attack_json, write_attack_page

    write_kept(attack_json(result), out / "attack.json")
    on_event(FileWritten(out / "attack.json"))
    on_event(FileWritten(write_attack_page(result, out / "attack.html")))
