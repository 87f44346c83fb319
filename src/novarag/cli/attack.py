"""`novarag attack`: what passages that try to steer the reader can change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from novarag.cli.access import reaches_models
from novarag.cli.console import asking, printing
from novarag.cli.exit_codes import ExitCode, code_of
from novarag.cli.options import (
    MaxTokens,
    OtherSource,
    ShardSize,
    StrategyName,
    StructuredReplies,
    TokenPrice,
    parse_price,
)
from novarag.cli.shares import parse_share
from novarag.defaults import ASK
from novarag.errors import UnfinishedError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.attacks.result import AttackResult
    from novarag.flows.attack.attack import AttackPreview
    from novarag.runner.access import Access


@reaches_models()
def attack(
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
            " simulated:obedient needs no server.",
        ),
    ] = None,
    gateway: Annotated[
        str | None,
        typer.Option(help="URL=NAME of a gateway and one of its models, in place of --model."),
    ] = None,
    suite: Annotated[
        Path | None, typer.Option(help="Attacks of your own (.toml); default: the shipped ones.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Some classes of attacks, with commas; default: all.")
    ] = None,
    places: Annotated[
        str | None, typer.Option(help="first, middle, last, with commas; default: all three.")
    ] = None,
    defences: Annotated[
        str | None,
        typer.Option(
            help="plain, framed, structured, screen, with commas; default: plain,framed,screen,"
            " and plain through a gateway. Beside structured the others are free."
        ),
    ] = None,
    action: Annotated[
        Literal["remove", "mark"],
        typer.Option("--screen-action", help="What the screen does with a flagged passage."),
    ] = "remove",
    strategy: StrategyName = "nova",
    threshold: Annotated[
        float | None,
        typer.Option(
            parser=parse_share,
            metavar="<share>",
            help="Confidence from which an answer is given; default 50%.",
        ),
    ] = None,
    gate: Annotated[Path | None, typer.Option(help="A gate that decides, in its place.")] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="The calibration that confidences go through.")
    ] = None,
    other_source: OtherSource = False,
    min_change: Annotated[
        float,
        typer.Option(
            parser=parse_share,
            metavar="<share>",
            help="A confidence has moved where it differs by more.",
        ),
    ] = "5%",  # type: ignore[assignment]
    max_calls: Annotated[
        int | None,
        typer.Option(min=1, help="Make at most so many calls; attacks are spread over groups."),
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, help="Temperature of the sampling.")] = 0.0,
    max_tokens: MaxTokens = None,
    structured: StructuredReplies = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of planted answers and draws.")] = 0,
    fail_on: Annotated[
        Literal["never", "success"],
        typer.Option(
            help="Exit code 3 where attacks are shown to succeed under one of the defences."
        ),
    ] = "never",
    price: TokenPrice = None,
    shard_size: ShardSize = ASK.shard_size,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask nothing; print the calls of each defence.")
    ] = False,
) -> None:
    """Put attacks among the passages, and count what they change beyond a repeat's noise."""
    from novarag.flows.attack.attack import attack as flow
    from novarag.flows.attack.attack import preview_attack

    chosen = {"classes": classes, "places": places, "defences": defences}
    some = {name: None if text is None else _names(text) for name, text in chosen.items()}
    if dry_run:
        found = preview_attack(
            groups, gateway=gateway, suite=suite, classes=some["classes"], places=some["places"],
            defences=some["defences"], action=action, max_calls=max_calls, seed=seed,
        )  # fmt: skip
        _show(found)
        return
    cost = parse_price(price)
    with asking(cost) as (on_event, stop):
        try:
            result = flow(
                groups, model, gateway=gateway, strategy=strategy, suite=suite,
                classes=some["classes"], places=some["places"], defences=some["defences"],
                action=action, min_change=min_change, threshold=threshold, gate=gate,
                calibration=calibration, other_source=other_source, max_calls=max_calls,
                temperature=temperature, max_tokens=max_tokens, structured=structured, seed=seed,
                out=out, shard_size=shard_size, access=access,
                on_event=printing(on_event, cost), stop=stop,
            )  # fmt: skip
        except UnfinishedError as error:
            sys.exit(code_of(error))
    _print(result)
    sys.exit(exit_code(result, fail_on))


def exit_code(result: AttackResult, fail_on: str) -> ExitCode:
    """Return the exit code of a result: that of its verdict first, then of what is left."""
    from novarag.attacks.success import DefenceStanding

    if fail_on == "success" and result.held is DefenceStanding.SUCCEED:
        return ExitCode.BROKEN
    return ExitCode.INCOMPLETE if result.missing else ExitCode.DONE


def _names(text: str) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _show(found: AttackPreview) -> None:
    print(f"questions  {found.questions:,} in {found.groups:,} groups")
    print(f"attacks    {found.attacks:,}, and {found.controls:,} harmless passages")
    print(f"places     {found.places:,}")
    for name, calls in found.calls.items():
        taken = found.blocked[name]
        said = f"; {taken:,} more are taken out and not asked" if taken else ""
        print(f"calls      {calls:,} under {name}{said}")
    print(f"calls      {found.total:,} in all; nothing was asked")


def _print(result: AttackResult) -> None:
    from novarag.report.attack import attack_notes, judge_attacks

    verdict = judge_attacks(result)
    for line in filter(None, [verdict.line, verdict.because, *attack_notes(result)]):
        print(f"- {plain_text(line, longest=1000)}")
