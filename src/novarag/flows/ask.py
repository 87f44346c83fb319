"""Ask a model every group: in memory, or as a run that can be killed and resumed anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.defaults import ASK
from novarag.errors import DataError, ServiceError, UsageError
from novarag.flows.events import silent
from novarag.flows.sync import synchronous
from novarag.prose import say
from novarag.runner.access import reach
from novarag.runner.asking import SamplingPlan, strategy_mode
from novarag.runner.runner import Runner, cause_of
from novarag.runner.sources import source_of
from novarag.runner.stop import Stop

if TYPE_CHECKING:
    from novarag.calibration.calibration import Calibration
    from novarag.calls import Sampling
    from novarag.flows.events import EventListener
    from novarag.runner.access import Access, Model
    from novarag.runner.asking import AskingMode
    from novarag.runner.sources import Groups
    from novarag.runs import Run
    from novarag.strategies import Strategy
    from novarag.strategies.follow_up import FollowUp

_GUESSED_REPLY = 400  # tokens of a reply, for a preview before there are any


async def ask_async(
    groups: Groups,
    strategy: str | Strategy | FollowUp,
    model: Model,
    *,
    out: str | Path | None = None,
    samples: int = 1,
    temperature: float | None = None,
    sampling: Sampling | None = None,
    per_request: int | None = None,
    revision: str | None = None,
    shard_size: int = ASK.shard_size,
    frame: bool = False,
    structured: bool | None = None,
    calibration: str | Path | Calibration | None = None,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> Run:
    """Ask a model every group, read every reply, grade what could be read.

    Requests that failed for good are counted in `Run.dead`; in memory, or with a `calibration`,
    `ServiceError` is raised if all of them did.

    Args:
        groups: Questions with their passages: a file (JSONL, Parquet, CSV), or `PassageGroup`
            objects.
        strategy: The strategy that makes the prompts and reads the replies: its name, the object,
            or "package.module:OBJECT"; or a `FollowUp`.
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function that opens one.
        out: The folder of the run, or an address such as `s3://...`: the same call goes on where it
            was cut off. None keeps everything in memory.
        samples: Samples of a reply to each group.
        temperature: Temperature of the sampling; None stands for 0 for one sample and 1 for
            several.
        sampling: A `Sampling`, which says more than `samples` and `temperature` can, and replaces
            both.
        per_request: Samples asked for in one request; None asks for all at once. Give 1 for a
            server that ignores `n`.
        revision: Revision of the model, for the record of the run.
        shard_size: Questions in a shard, the unit that is finished or asked again as a whole.
        frame: Give the labels of every prompt a mark that no passage can know (`Answer[7f3a2c]:`);
            labels without it do not count.
        structured: Have the server hold replies to the strategy's form, which the first request
            finds out about. None does so for one sample a group from a server, and leaves several
            free, as those that train a model must be; a run that was begun goes on as it began.
        calibration: A calibration or its file, by which a finished run gets a table
            calibrated.parquet. It needs `out` to be a folder on a disk; hand any other run to
            `apply_calibration`.
        access: How servers are reached: time-outs, concurrency, retries, keys.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    mode, reached = strategy_mode(strategy, frame=frame), reach(model, access)
    made = _calibration(calibration, out, mode, reached.name)
    runner = Runner(model=reached, folder=out, on_event=on_event, stop=stop or Stop())
    wanted = _sampling(samples, temperature, sampling)
    plan = SamplingPlan(
        sampling=wanted, per_request=per_request, revision=revision, shard_size=shard_size,
        structured=_is_structured(structured, mode, wanted, runner),
    )  # fmt: skip
    done = await runner.attempt(groups, mode, samples=plan)
    if done.summary.all_failed and (out is None or made is not None):
        raise ServiceError(cause_of(done.run), retryable=False)
    if made is not None and out is not None and done.summary.finished:
        from novarag.flows.calibrate import apply_calibration

        apply_calibration(done.run, made, out=Path(out) / "calibrated.parquet", on_event=on_event)
    return done.run


ask = synchronous(ask_async)


def _is_structured(
    wanted: bool | None, mode: AskingMode, sampling: Sampling, runner: Runner
) -> bool:
    """Say whether replies are held to the strategy's form; one sample a group usually is."""
    own = sampling.regex is not None or sampling.schema is not None
    if wanted and own:
        raise UsageError(
            say("replies follow a `regex` or `schema` of yours, or are `structured`"),
            parameter="structured",
        )
    return runner.is_structured(wanted, mode.asking, "", usual=sampling.n == 1 and not own)


def _calibration(
    given: str | Path | Calibration | None, out: str | Path | None, mode: AskingMode, model: str
) -> Calibration | None:
    """Take a calibration that fits the model and the prompt, before anything is asked."""
    if given is None:
        return None
    from novarag.calibration.graded_answers import UNKNOWN, AnswerSource
    from novarag.flows.calibrate import as_calibration, check_source
    from novarag.strategies import Strategy

    if out is None or str(out).startswith("s3://"):
        raise UsageError.saying(
            "`calibration` wants a folder (`out`); hand any other run to `apply_calibration(...)`"
        )
    made = as_calibration(given)
    prompt = mode.template_hash if isinstance(mode.asking, Strategy) else UNKNOWN
    check_source(made, AnswerSource(model=model, prompt=prompt))
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPreview:
    """What asking would take: counts, the first prompt, and a guess at the tokens."""

    prompt: str
    questions: int
    groups: int
    graded: int
    labelled: int
    samples: int
    requests: int
    model: str
    prompt_tokens: float
    reply_tokens: float
    guessed_reply: int = _GUESSED_REPLY

    @property
    def trials(self) -> int:
        """How many replies there would be to read."""
        return self.groups * self.samples


def preview_ask(
    groups: Groups,
    strategy: str | Strategy | FollowUp,
    model: Model,
    *,
    samples: int = 1,
    sampling: Sampling | None = None,
    per_request: int | None = None,
    frame: bool = False,
) -> AskPreview:
    """Say what asking would take, and ask nothing; four characters count as a token.

    Args:
        groups: Questions with their passages: a file (JSONL, Parquet, CSV), or `PassageGroup`
            objects.
        strategy: The strategy that makes the prompts and reads the replies: its name, the object,
            or "package.module:OBJECT"; or a `FollowUp`.
        model: The model that would be asked, as `ask` takes it.
        samples: Samples of a reply to each group.
        sampling: A `Sampling`, which replaces `samples`.
        per_request: Samples asked for in one request; None asks for all at once. Give 1 for a
            server that ignores `n`.
        frame: Give the labels of every prompt a mark that no passage can know (`Answer[7f3a2c]:`);
            labels without it do not count.
    """
    from novarag.runs import requests_hold

    mode = strategy_mode(strategy, frame=frame)
    plan = SamplingPlan(sampling=_sampling(samples, None, sampling), per_request=per_request)
    settings = mode.settings(plan, model=reach(model).name)
    count = characters = graded = labelled = 0
    first, questions = "", set()
    source, asked = source_of(groups), mode.framed()
    for group in source.groups():
        text = asked.render(group).text
        first = first or text
        count += 1
        characters += len(text)
        questions.add(hash(group.question.id))
        graded += bool(group.question.answers)
        labelled += group.kind is not None
    if not count:
        raise DataError("there are no groups.", hint="give a file with rows.", source=source.name)
    waves = -(-settings.samples // requests_hold(settings))
    longest = settings.sampling.max_tokens
    return AskPreview(
        prompt=first,
        questions=len(questions),
        groups=count,
        graded=graded,
        labelled=labelled,
        samples=settings.samples,
        requests=count * waves,
        model=settings.model,
        prompt_tokens=characters / 4 * waves,
        reply_tokens=count * settings.samples * min(_GUESSED_REPLY, longest or _GUESSED_REPLY),
    )


def read_schema(path: str | Path) -> str:
    """Read a JSON Schema that replies must follow, and see that it is one."""
    from novarag.answers.opening.files import existing
    from novarag.llm.wire import parse_schema

    text = existing(path).read_bytes().decode("utf-8", errors="replace")
    parse_schema(text)
    return text


def _sampling(samples: int, temperature: float | None, sampling: Sampling | None) -> Sampling:
    from novarag.calls import Sampling

    if sampling is not None:
        return sampling
    warm = (0.0 if samples == 1 else 1.0) if temperature is None else temperature
    return Sampling(n=samples, temperature=warm)
