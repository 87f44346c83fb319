"""`novarag train build`: from questions to a training set."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.access import SHARDS_ALONE, reaches_models
from novarag.cli.console import asking, printing
from novarag.cli.exit_codes import ExitCode, code_of
from novarag.cli.options import (
    TokenPrice,
    parse_price,
)
from novarag.errors import UnfinishedError
from novarag.flows.events import StepResult

if TYPE_CHECKING:
    from novarag.flows.events import Event, EventListener
    from novarag.runner.access import Access


@reaches_models(without=SHARDS_ALONE)
def build(
    pipeline: Annotated[
        list[str],
        typer.Argument(
            help="TOML files, or the presets `paper` and `released`; later ones override"
            " earlier ones."
        ),
    ],
    access: Access,
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse",
            help="Try it without a model: a simulated one takes the place of each, and the results"
            " go into a folder with -rehearsal after its name.",
        ),
    ] = False,
    price: TokenPrice = None,
) -> None:
    """Build a training set: noise, groups, samples, filter, export; run it again to go on."""
    from novarag.flows.build import build_training_set

    cost = parse_price(price)
    with asking(cost) as (on_event, stop):
        show = _printing(printing(on_event, cost))
        try:
            built = build_training_set(
                pipeline, rehearse=rehearse, access=access, on_event=show, stop=stop
            )
        except UnfinishedError as error:
            sys.exit(code_of(error))
    if built.ended == "groups":
        print("to go on in spite of it, write audit = false in [groups]")
    if built.ended is not None:
        sys.exit(ExitCode.INCOMPLETE)
    if rehearse:
        print(f"next: with your own model: novarag train build {shlex.join(pipeline)}")
        return
    print(f"next: train on {built.out / 'export'}; its README.md says what is in it")


def _printing(on_event: EventListener) -> EventListener:
    """Print what each step found on standard output, and show the rest."""
    from novarag.cli.train.export import print_export
    from novarag.cli.train.filter import print_filtered
    from novarag.cli.train.noise import print_tally
    from novarag.flows.export import Export
    from novarag.flows.filter import FilterResult
    from novarag.flows.noise import NoiseResult
    from novarag.noise.group_build import GroupBuild

    def hear(event: Event) -> None:
        on_event(event)
        match event:
            case StepResult(_, NoiseResult() as result):
                print_tally(result.tally or ())
            case StepResult(_, GroupBuild() as result):
                print(result)
            case StepResult(_, FilterResult() as result):
                print_filtered(result)
            case StepResult(_, Export() as result):
                print_export(result)
            case _:
                pass
        sys.stdout.flush()

    return hear
