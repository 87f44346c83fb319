"""The verbs of the command line, as typer has them."""

import typer
from typer.main import get_command

from novarag.cli import app


def verbs():
    """Every verb that does something, and every group of verbs, by the words that name it."""
    return dict(_inside(get_command(app), ()))


def _inside(command, words):
    yield words, command
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from _inside(command.get_command(context, name), (*words, name))
