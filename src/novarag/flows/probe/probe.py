"""Probe a system without labels: ask it again beside changed passages, and judge what moved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.calls import simulated_note
from novarag.defaults import ASK, PROBE
from novarag.errors import DataError, ServiceError, UsageError
from novarag.flows.events import FileWritten, Note, silent
from novarag.flows.probe.result import ProbeResult
from novarag.flows.sync import synchronous
from novarag.prose import say
from novarag.runner.access import reach, reach_app
from novarag.runner.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.calls import Sampling
    from novarag.flows.events import EventListener
    from novarag.flows.probe.plan import GroupRows, ProbePlan
    from novarag.flows.probe.replies import VariantReplies
    from novarag.probes import MatchingRisk, ProbeCard
    from novarag.report.probe import ProbeHeading
    from novarag.runner.access import Access, App, Model, ModelAccess
    from novarag.runner.asking import AskingMode
    from novarag.strategies import Strategy

_GUESSED_REPLY = 400  # tokens of a reply, for a preview before there are any


async def probe_async(
    groups: GroupRows,
    model: Model | None = None,
    *,
    app: App | None = None,
    profile: str = PROBE.profile,
    question_count: int | None = None,
    refuse_above: int | None = None,
    strategy: str | Strategy = PROBE.strategy,
    contradictions: GroupRows | None = None,
    writer: Model | None = None,
    matching_risk: float | MatchingRisk | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    frame: bool = False,
    structured: bool | None = None,
    revision: str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    page: str | Path | None = None,
    junit: str | Path | None = None,
    shard_size: int = ASK.shard_size,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> ProbeResult:
    """Ask a system again beside changed passages, and judge what moved; no label is needed.

    Args:
        groups: Questions with their passages: a file (JSONL, Parquet, CSV), `PassageGroup` objects,
            or rows as mappings. Of each question the first group is asked.
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function that opens one. An `app` takes its place.
        app: An application in place of a `model`: its address, or a function of (question,
            passages). It samples as it likes: `temperature`, `max_tokens`, `frame` and `structured`
            are refused.
        profile: How much is asked: "quick", "standard" or "full", with at most 3, 8 or 20 calls a
            question.
        question_count: How many questions to ask, drawn by `seed`; None asks all. A later call
            with more keeps what was asked in `out`.
        refuse_above: The most calls; a plan that takes more is refused before anything is asked.
        strategy: How prompts are written and replies are read: a name such as "nova",
            "package.module:OBJECT", or a `Strategy`. An `app` writes its own prompts; a text that
            it replies with is read so.
        contradictions: Passages marked as counterfactual, which support another answer, beside
            those that `groups` hold: given as `groups` are, or as the folder of a finished run of
            noise.
        writer: A model that writes the contradictions that are missing, given as `model` is; None
            goes without them.
        matching_risk: A bound on the share of questions with two "different" answers that are both
            right, or a `MatchingRisk`; None is 0.08.
        temperature: Temperature of the sampling; None is 0 where the profile asks for one reply of
            each kind ("quick"), and 1 where it repeats them.
        max_tokens: Longest reply, in tokens.
        frame: Ask for labels with a secret mark, which no passage can forge.
        structured: Have the server hold replies to the strategy's form, where it can; None does so
            for a model behind a server.
        revision: Revision of the system, for the record.
        seed: Seed of the draw of questions, and of the order, places and passages of their
            variants.
        out: A folder for the replies, probe.json and probe.html, where the same call goes on after
            it was cut off; None keeps all in memory.
        page: A file for the page; None is probe.html in `out`, if that is given.
        junit: A file for JUnit XML, with a test case for each relation; None writes none.
        shard_size: Questions in a shard, the unit that is finished or asked again as a whole.
        access: How servers are reached: time-outs, concurrency, retries, keys.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    from novarag.flows.probe.plan import make_plan
    from novarag.flows.probe.replies import VariantAsker
    from novarag.probes import find_profile, make_card
    from novarag.runner.asking import SamplingPlan
    from novarag.runner.runner import Runner

    if out is not None and str(out).startswith("s3://"):
        raise UsageError.saying("`out` must be a folder here: the page is written into it")
    risk = _risk(matching_risk)
    asked = find_profile(profile)
    reached = _reach(model, app, access)
    mode = _asking(strategy, app=app is not None, frame=frame, structured=structured)
    plan = make_plan(
        groups, asked, questions=question_count, refuse_above=refuse_above,
        contradictions=contradictions, seed=seed,
    )  # fmt: skip
    if plan.left_out:
        on_event(Note(f"{plan.left_out:,} rows ask a question again: the first of each is probed"))
    warm = _temperature(plan, temperature, app=app is not None)
    samples = SamplingPlan(
        sampling=_sampling(warm, max_tokens, app=app is not None), per_request=1,
        shard_size=shard_size, revision=revision,
    )  # fmt: skip
    folder = None if out is None else Path(out)
    runner = Runner(model=reached, folder=folder, on_event=on_event, stop=stop or Stop())
    asker = VariantAsker(
        mode=mode, runner=runner, samples=samples, structured=structured,
        writer=None if writer is None else replace(runner, model=reach(writer, access)),
    )  # fmt: skip
    replies = await asker.ask(plan)
    result = _result(plan, replies, make_card(replies.probed(), risk=risk), reached, mode, warm)
    _write(result, replies, out=out, page=page, junit=junit, on_event=on_event)
    return result


probe = synchronous(probe_async)


def _reach(model: Model | None, app: App | None, access: Access | None) -> ModelAccess:
    if (model is None) == (app is None):
        raise UsageError.saying("give the system as `model` or as `app`, one of them")
    return reach_app(app, access) if app is not None else reach(model, access)  # type: ignore[arg-type]


def _not_for_app(why: str, name: str) -> UsageError:
    return UsageError(say("an `app` {}: it takes no `{}`", why, name), parameter=name)


def _asking(
    strategy: str | Strategy, *, app: bool, frame: bool, structured: bool | None = None
) -> AskingMode:
    from novarag.llm.application import PREFIX, Application
    from novarag.runner.asking import AskingMode, strategy_mode
    from novarag.strategies import find_strategy

    if not app:
        return strategy_mode(strategy, frame=frame)
    if frame or structured:
        raise _not_for_app("writes its own prompts", "frame" if frame else "structured")
    form = Application(find_strategy(strategy))
    name = strategy if isinstance(strategy, str) else strategy.name
    return AskingMode(asking=form, name=PREFIX + name, template_hash=form.fingerprint)


def _temperature(plan: ProbePlan, given: float | None, *, app: bool) -> float:
    if given is not None and app:
        raise _not_for_app("samples as it likes", "temperature")
    if given is not None or app:
        return given or 0.0
    return 1.0 if max(plan.samples().values()) > 1 else 0.0


def _sampling(temperature: float, max_tokens: int | None, *, app: bool) -> Sampling:
    from novarag.calls import Sampling

    if app and max_tokens is not None:
        raise _not_for_app("writes as much as it likes", "max_tokens")
    return Sampling(temperature=temperature, max_tokens=max_tokens)


def _risk(given: float | MatchingRisk | None) -> MatchingRisk:
    from novarag.probes import DEFAULT_RISK, MatchingRisk

    if given is None:
        return DEFAULT_RISK
    if isinstance(given, MatchingRisk):
        return given
    if not 0 <= given <= 1:
        raise UsageError.saying("`matching_risk` is a share from 0 to 1, not {}", given)
    return MatchingRisk(bound=float(given), pair=float(given), source="given by hand")


def _result(
    plan: ProbePlan,
    replies: VariantReplies,
    card: ProbeCard,
    reached: ModelAccess,
    mode: AskingMode,
    warm: float,
) -> ProbeResult:
    """Put together what was found; calls that all failed, or replies none of which was read."""
    if not card.replies:
        outcome = next(iter(replies.dead), "nothing was asked")
        raise ServiceError(f"every call failed: {outcome}", retryable=False)
    if card.unread == card.replies:
        flaw, count = replies.flaws.most_common(1)[0]
        raise DataError(
            f"none of {card.replies:,} replies could be read ({count:,}: {flaw}).",
            hint="give the strategy that such replies follow.",
            source=reached.name,
        )
    return ProbeResult(
        card=card, system=reached.name, strategy=mode.name, profile=plan.profile.name,
        temperature=warm, seed=plan.seed, available=plan.available,
        replies=tuple(replies.probed()), unmade=replies.unmade(),
        flaws={str(flaw): count for flaw, count in replies.flaws.most_common()},
        dead=dict(replies.dead), cost=replies.cost,
    )  # fmt: skip


def _write(
    result: ProbeResult,
    replies: VariantReplies,
    *,
    out: str | Path | None,
    page: str | Path | None,
    junit: str | Path | None,
    on_event: EventListener,
) -> None:
    """Write the page, its figures as JSON, and the card as JUnit."""
    from novarag.atomic import write_whole
    from novarag.report.junit import junit_xml
    from novarag.report.probe import probe_json, write_probe_page

    if page is None and out is not None:
        page = Path(out) / "probe.html"
    heading = _heading(result, replies.plan.name)
    groups = {(str(g.question.id), v): made for g, v, made in replies.variants()}
    if out is not None:
        place = Path(out) / "probe.json"
        write_whole(place, probe_json(heading, result.card, result.replies, groups))
        on_event(FileWritten(place))
    if page is not None:
        on_event(
            FileWritten(write_probe_page(heading, result.card, result.replies, groups, Path(page)))
        )
    if junit is not None:
        write_whole(Path(junit), junit_xml(heading, result.card))
        on_event(FileWritten(Path(junit)))


def _heading(result: ProbeResult, source: str) -> ProbeHeading:
    from datetime import UTC, datetime

    from novarag.report.probe import ProbeHeading
    from novarag.version import __version__

    return ProbeHeading(
        system=result.system, source=source, strategy=result.strategy, profile=result.profile,
        temperature=result.temperature, seed=result.seed, available=result.available,
        made=datetime.now(UTC).strftime("%Y-%m-%d"), version=__version__,
        notes=tuple(simulated_note(result.system)), unmade=result.unmade, flaws=result.flaws,
        dead=result.dead, calls=result.cost.calls, prompt_tokens=result.cost.prompt_tokens,
        completion_tokens=result.cost.completion_tokens,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePreview:
    """What one profile would take: calls a question and in all, and a guess at the tokens."""

    name: str
    calls_a_question: int
    calls: int
    prompt_tokens: float
    reply_tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePreview:
    """What a probe would take, for each profile; nothing was asked."""

    questions: int
    available: int
    system: str
    profiles: tuple[ProfilePreview, ...]
    unmade: Mapping[str, int]
    guessed_reply: int = _GUESSED_REPLY


def preview_probe(
    groups: GroupRows,
    model: Model | None = None,
    *,
    app: App | None = None,
    question_count: int | None = None,
    strategy: str | Strategy = PROBE.strategy,
    contradictions: GroupRows | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
) -> ProbePreview:
    """Say what each profile would take, and ask nothing; four characters count as a token.

    Args:
        groups: Questions with their passages: a file (JSONL, Parquet, CSV), `PassageGroup` objects,
            or rows as mappings. Of each question the first group is asked.
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function that opens one, as for a probe; it is not asked. An
            `app` takes its place.
        app: An application in place of a `model`: its address, or a function of (question,
            passages).
        question_count: How many questions would be asked, drawn by `seed`; None is all.
        strategy: How prompts are written and replies are read: a name such as "nova",
            "package.module:OBJECT", or a `Strategy`. An `app` writes its own prompts; a text that
            it replies with is read so.
        contradictions: Passages marked as counterfactual, which support another answer, beside
            those that `groups` hold: given as `groups` are, or as the folder of a finished run of
            noise.
        max_tokens: Longest reply, in tokens; a guess at the tokens of replies keeps to it.
        seed: Seed of the draw of questions, and of the order, places and passages of their
            variants.
    """
    from novarag.flows.probe.plan import CONTRADICTION, ORIGINAL, make_plan
    from novarag.probes import PROFILES

    reached = _reach(model, app, None)
    asking = _asking(strategy, app=app is not None, frame=False).asking
    plan = make_plan(
        groups, PROFILES["full"], questions=question_count, contradictions=contradictions, seed=seed
    )
    lengths, unmade = {}, {}
    for variant in plan.samples():
        sizes = [len(asking.render(group).text) for group in plan.make(variant)]
        unmade[variant] = len(plan.groups) - len(sizes)
        lengths[variant] = sum(sizes)
    if not lengths[CONTRADICTION]:
        lengths[CONTRADICTION] = lengths[ORIGINAL]
    reply = min(_GUESSED_REPLY, max_tokens or _GUESSED_REPLY)
    return ProbePreview(
        questions=len(plan.groups), available=plan.available, system=reached.name,
        unmade={variant: count for variant, count in unmade.items() if count},
        profiles=tuple(
            ProfilePreview(
                name=profile.name, calls_a_question=profile.calls,
                calls=profile.calls * len(plan.groups),
                prompt_tokens=sum(
                    n * lengths[ORIGINAL if v == "repeat" else v]
                    for v, n in profile.samples.items()
                ) / 4,
                reply_tokens=profile.calls * len(plan.groups) * reply,
            )
            for profile in PROFILES.values()
        ),
    )  # fmt: skip
