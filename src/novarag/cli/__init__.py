"""The command line: parse, call, print. No logic lives here."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from novarag import __version__
from novarag.cli.annotating import annotate
from novarag.cli.answering import answer
from novarag.cli.asking import ask
from novarag.cli.building import build
from novarag.cli.cleaning import nova_clean
from novarag.cli.estimating import estimate
from novarag.cli.experimenting import run
from novarag.cli.exporting import export
from novarag.cli.filtering import filter_trials, reread
from novarag.cli.grouping import audit, group
from novarag.cli.indexing import index, retrieve
from novarag.cli.looking import recover, show
from novarag.cli.measuring import measure
from novarag.cli.noising import noise
from novarag.cli.reading import example, read_reply, render
from novarag.cli.reproducing import reproduce
from novarag.cli.serving import PassingOn, serve_model
from novarag.cli.studying import study
from novarag.cli.training import train
from novarag.errors import NovaragError

app = typer.Typer(
    name="novarag",
    help="Calibrated confidence for retrieval-augmented language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

RETRIEVAL = "Retrieval"
TRAINING = "Training sets"


def main() -> None:
    """Run the command line; what we raise on purpose becomes one line and exit code 2."""
    try:
        app()
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        sys.stderr.close()
        os._exit(0)
    except (NovaragError, OSError) as error:
        print(f"novarag: {error}", file=sys.stderr)
        sys.exit(2)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if "" not in sys.path:
        sys.path.append("")  # a module beside the user's data may be named as package.module:OBJECT
    if version:
        print(__version__)
        raise typer.Exit


app.command()(answer)
app.command()(ask)
app.command()(show)
app.command()(recover)
app.command()(reread)
app.command()(measure)
app.command()(estimate)
app.command(rich_help_panel=RETRIEVAL)(index)
app.command(rich_help_panel=RETRIEVAL)(retrieve)
app.command(rich_help_panel=RETRIEVAL)(annotate)
app.command(rich_help_panel=RETRIEVAL)(run)
app.command()(reproduce)
app.command(rich_help_panel=TRAINING)(build)
app.command(rich_help_panel=TRAINING)(noise)
app.command(rich_help_panel=TRAINING)(group)
app.command(rich_help_panel=TRAINING)(audit)
app.command("filter", rich_help_panel=TRAINING)(filter_trials)
app.command(rich_help_panel=TRAINING)(export)
app.command(rich_help_panel=TRAINING)(train)
app.command("serve-model", cls=PassingOn, rich_help_panel=TRAINING)(serve_model)
app.command("nova-clean", rich_help_panel=TRAINING)(nova_clean)
app.add_typer(study, name="study")
app.command()(render)
app.command("read")(read_reply)
app.command()(example)
