"""`novarag run experiment`: an experiment under real retrieval, or a table of systems."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.access import SHARDS_ALONE, reaches_models
from novarag.cli.console import asking, printing
from novarag.cli.exit_codes import code_of
from novarag.cli.options import (
    TokenPrice,
    parse_price,
)
from novarag.errors import UnfinishedError
from novarag.flows.events import StepResult
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.flows.events import Event, EventListener
    from novarag.runner.access import Access


@reaches_models(without=SHARDS_ALONE)
def experiment(
    experiment: Annotated[
        list[str],
        typer.Argument(
            help="TOML files or presets; later ones override earlier ones. `retrieval-bm25`"
            " and `retrieval-dense` evaluate your own questions and corpus; others are tables of"
            " systems, as `novarag paper reproduce` has them."
        ),
    ],
    access: Access,
    price: TokenPrice = None,
) -> None:
    """Run an experiment: real retrieval on your data, or a table; run it again to go on."""
    from novarag.cli.paper.reproduce import print_page
    from novarag.config.grid import is_grid
    from novarag.flows.experiment import run_experiment
    from novarag.flows.reproduce.reproduce import run_table

    cost = parse_price(price)
    with asking(cost) as (on_event, stop):
        show = _printing(printing(on_event, cost))
        try:
            if is_grid(experiment):
                print_page(run_table(experiment, access=access, on_event=show, stop=stop))
                return
            done = run_experiment(experiment, access=access, on_event=show, stop=stop)
        except UnfinishedError as error:
            sys.exit(code_of(error))
    print(f"next: open {done.report}")


def _printing(on_event: EventListener) -> EventListener:
    """Print what each step found on standard output, and show the rest."""
    from novarag.metrics import Measurement
    from novarag.report import answer_first

    def hear(event: Event) -> None:
        on_event(event)
        if not isinstance(event, StepResult) or isinstance(event.result, dict):
            return
        if isinstance(event.result, Measurement):
            for line in [*answer_first(event.result), *event.result.notes]:
                print(f"- {plain_text(line, longest=1000)}")
        elif event.result is not None:
            print(event.result)
        sys.stdout.flush()

    return hear
