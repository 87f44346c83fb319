"""`novarag probe`: what can be proved of a system without a label."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from novarag.cli.access import reaches_models
from novarag.cli.console import asking, keeping
from novarag.cli.exit_codes import ExitCode, code_of
from novarag.cli.options import (
    LabelFrame,
    MaxTokens,
    ShardSize,
    StrategyName,
    StructuredReplies,
    TokenPrice,
    parse_price,
)
from novarag.defaults import ASK, PROBE
from novarag.errors import UnfinishedError, UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.calls import Price
    from novarag.flows.events import RunEnded
    from novarag.flows.probe.probe import ProbePreview
    from novarag.flows.probe.result import ProbeResult
    from novarag.runner.access import Access, App


@reaches_models()
def probe(
    groups: Annotated[
        Path, typer.Argument(help="Questions with their passages: JSONL, Parquet or CSV.")
    ],
    out: Annotated[Path, typer.Option(help="Folder; one that was begun goes on.")],
    access: Access,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="URL=NAME of an OpenAI-compatible server; repeat it for replicas of one model."
            " simulated:base needs no server.",
        ),
    ] = None,
    app: Annotated[
        str | None,
        typer.Option(
            help="Instead of a model: URL of an application that takes question and passages, or"
            " package.module:FUNCTION of (question, passages)."
        ),
    ] = None,
    profile: Annotated[
        Literal["quick", "standard", "full"],
        typer.Option(help="3, 8 or 20 calls a question."),
    ] = "standard",
    questions: Annotated[
        int | None, typer.Option(min=1, help="How many questions, drawn by seed; default: all.")
    ] = None,
    refuse_above: Annotated[
        int | None, typer.Option(min=1, help="Refuse to begin where more calls would be needed.")
    ] = None,
    strategy: StrategyName = PROBE.strategy,
    contradictions: Annotated[
        Path | None,
        typer.Option(help="Passages that contradict: such a file, or the folder of a noise run."),
    ] = None,
    writer: Annotated[
        str | None,
        typer.Option(help="URL=NAME of a model that writes the contradictions that are missing."),
    ] = None,
    matching_risk: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of questions whose different answers may both be right; default 0.08.",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Temperature of the sampling; default 0 for quick, 1 for the other profiles.",
        ),
    ] = None,
    max_tokens: MaxTokens = None,
    frame: LabelFrame = False,
    structured: StructuredReplies = None,
    revision: Annotated[
        str | None, typer.Option(help="Revision of the system, for the record.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the draw of questions and of their variants.")
    ] = 0,
    page: Annotated[
        Path | None, typer.Option(help="Write the page here, not to probe.html in the folder.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Also write JUnit XML, a test case for each relation.")
    ] = None,
    fail_on: Annotated[
        Literal["breaks"] | None,
        typer.Option(help="Exit code 3 if a relation is broken, for CI."),
    ] = None,
    price: TokenPrice = None,
    shard_size: ShardSize = ASK.shard_size,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Ask nothing; print the calls of each profile."),
    ] = False,
) -> None:
    """Prove over-confidence without a label: ask again beside changed passages, judge shifts."""
    from novarag.flows.probe.probe import preview_probe
    from novarag.flows.probe.probe import probe as flow

    cost, system = parse_price(price), _app(app)
    if dry_run:
        found = preview_probe(
            groups, model, app=system, question_count=questions, strategy=strategy,
            contradictions=contradictions, max_tokens=max_tokens, seed=seed,
        )  # fmt: skip
        _show(found, cost)
        return
    ended: list[RunEnded] = []
    with asking(cost) as (on_event, stop):
        try:
            result = flow(
                groups, model, app=system, profile=profile, question_count=questions,
                refuse_above=refuse_above, strategy=strategy, contradictions=contradictions,
                writer=writer, matching_risk=matching_risk, temperature=temperature,
                max_tokens=max_tokens, frame=frame, structured=structured, revision=revision,
                seed=seed, out=out, page=page, junit=junit, shard_size=shard_size, access=access,
                on_event=keeping(on_event, ended), stop=stop,
            )  # fmt: skip
        except UnfinishedError as error:
            _spent(ended, cost)
            print(f"unfinished: run the same command to go on; {out} keeps what came")
            sys.exit(code_of(error))
    _spent(ended, cost)
    _print(result)
    if fail_on == "breaks" and result.broken:
        sys.exit(ExitCode.BROKEN)
    sys.exit(ExitCode.INCOMPLETE if result.dead else ExitCode.DONE)


def _app(text: str | None) -> App | None:
    """Take an application by its address, or import the function it is."""
    if text is None or "://" in text:
        return text
    from novarag.imports import import_object

    found = import_object(text)
    if not callable(found):
        raise UsageError(f"{text!r} is no function but a {type(found).__name__}")
    return cast("App", found)


def _print(result: ProbeResult) -> None:
    from novarag.calls import simulated_note
    from novarag.report.probe import probe_notes

    for line in [*simulated_note(result.system), *probe_notes(result.card)]:
        print(f"- {plain_text(line, longest=1000)}")
    if result.dead:
        failed = ", ".join(f"{outcome} {n:,}" for outcome, n in result.dead.items())
        print(f"{failed}: add --retry-failed to ask again")


def _spent(ended: list[RunEnded], price: Price | None) -> None:
    """Print what all runs took together."""
    runs = [event.summary for event in ended]
    calls, fresh = sum(r.answered for r in runs), sum(r.fresh for r in runs)
    dead = sum(r.dead for r in runs)
    prompts, replies = sum(r.prompt_tokens for r in runs), sum(r.completion_tokens for r in runs)
    print(f"{calls:,} calls answered ({fresh:,} asked now), {dead:,} failed")
    money = f", about {price.of(prompts, replies):,.2f}" if price is not None else ""
    print(f"{prompts:,} prompt and {replies:,} reply tokens{money}")


def _show(preview: ProbePreview, price: Price | None) -> None:
    print(f"system     {plain_text(preview.system)}; nothing was asked")
    print(f"questions  {preview.questions:,} of {preview.available:,}")
    print("profile    calls a question   calls in all   tokens of prompts   of replies"
          + ("   money" if price is not None else ""))  # fmt: skip
    for one in preview.profiles:
        money = ""
        if price is not None:
            money = f"{price.of(one.prompt_tokens, one.reply_tokens):>8,.2f}"
        print(
            f"{one.name:<10} {one.calls_a_question:>16} {one.calls:>14,}"
            f" {one.prompt_tokens:>19,.0f} {one.reply_tokens:>12,.0f}{money}"
        )
    print(f"           (4 characters a token; {preview.guessed_reply} tokens a reply are a guess)")
    for variant, count in preview.unmade.items():
        print(f"not made   {variant}: for {count:,} questions")
