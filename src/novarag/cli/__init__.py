"""The command line: parse, call a flow, print. A verb's module is loaded when it is needed."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from shlex import join
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from novarag.cli.exit_codes import ExitCode, epilogue
from novarag.cli.verbs import PANELS, VERBS
from novarag.defaults import LARGEST
from novarag.errors import NovaragError, UsageError
from novarag.version import __version__

_FUNCTIONS = {"filter": "filter_trials"}  # of verbs whose name is a builtin's


def _bound(verb: TyperCommand | TyperGroup) -> None:
    """Refuse whole numbers that no file of ours can hold, whatever the option."""
    for param in verb.params:
        if param.callback is None:
            param.callback = _bounded
    for inner in getattr(verb, "commands", {}).values():
        _bound(inner)


def _bounded(_: object, __: object, value: object) -> object:
    numbers = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(number, int) and abs(number) > LARGEST for number in numbers):
        raise typer.BadParameter(f"is over {LARGEST}.")
    return value


def _summarise(verb: TyperCommand | TyperGroup) -> None:
    """Say what a verb does by its whole first sentence, which lists of verbs would cut."""
    verb.short_help = (verb.help or "").strip().split("\n\n", 1)[0].replace("\n", " ")
    for inner in getattr(verb, "commands", {}).values():
        _summarise(inner)


class Verbs(TyperGroup):
    """The verbs as one group; each is imported only when it is shown or called."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        """Name the verbs in the order of the help."""
        return list(VERBS)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as typer calls it
        """Write the help without what draws boxes, which takes longer to load than all else."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write the verbs, panel by panel, and what each does; none of them is loaded."""
        width = max(map(len, VERBS))
        for panel, verbs in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([(verb.ljust(width), said) for verb, said in verbs.items()])

    def get_command(  # type: ignore[override]
        self,
        ctx: typer.Context,  # noqa: ARG002 - as click calls it
        cmd_name: str,
    ) -> TyperCommand | TyperGroup | None:
        """Load one verb."""
        if cmd_name not in VERBS:
            return None
        panel, own = VERBS[cmd_name], cmd_name.replace("-", "_")
        verb = getattr(import_module(f"novarag.cli.{own}"), _FUNCTIONS.get(own, own))
        if isinstance(verb, typer.Typer):
            found: TyperCommand | TyperGroup = typer.main.get_group(verb)
            found.rich_help_panel = panel
        else:
            one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            kind = getattr(verb, "command_class", None)
            one.command(cmd_name, cls=kind, rich_help_panel=panel)(verb)
            found = cast("TyperCommand", typer.main.get_command(one))
        found.name = cmd_name
        _summarise(found)
        _bound(found)
        return found

    def resolve_command(  # type: ignore[override]
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, TyperCommand | TyperGroup | None, list[str]]:
        """Find the verb that is called, whose flags messages will name."""
        from novarag.cli.translate import speak_as

        name, verb, rest = super().resolve_command(ctx, args)
        if isinstance(verb, (TyperCommand, TyperGroup)):
            speak_as(verb)
        return name, cast("TyperCommand | TyperGroup | None", verb), rest

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Call a verb; what the library says of its parameters is said in flags."""
        try:
            return super().invoke(ctx)
        except NovaragError as error:
            from novarag.cli.translate import said

            error.args = (said(error), *error.args[1:])
            raise


app = typer.Typer(
    name="novarag",
    cls=Verbs,
    help="Calibrated confidence for retrieval-augmented language models.",
    epilog=epilogue(),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


TRACEBACK = "NOVARAG_TRACEBACK"
"""Environment variable that shows where an error was raised that is otherwise one line."""

_OF_THE_MACHINE: dict[type[Exception], str] = {
    UnicodeError: "some text is not UTF-8, or cannot be shown here",
    RecursionError: "something is nested too deeply",
    MemoryError: "there is not enough memory",
}
"""What no file of ours can rule out, and its words; other exceptions are faults, and stay whole."""

_ONE_LINE: tuple[type[Exception], ...] = (NovaragError, OSError, *_OF_THE_MACHINE)


def main() -> None:
    """Run the command line; what is no fault of the program becomes one line and exit code 2."""
    try:
        _check_words(sys.argv[1:])
        app()
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        sys.stderr.close()
        os._exit(0)
    except _ONE_LINE as error:
        if os.environ.get(TRACEBACK):
            raise
        print(f"novarag: {_line(error)}{_again(error)}", file=sys.stderr)
        sys.exit(ExitCode.REFUSED)


def _again(error: Exception) -> str:
    """Return the command that settles what a table left open, by the first setting of each part."""
    from novarag.answers.cells.unsettled import UnsettledTable
    from novarag.cli.translate import say_flag

    settings = error.example() if isinstance(error, UnsettledTable) else {}
    if not settings:
        return ""
    flags = " ".join(say_flag(name, value) for name, value in settings.items())
    return f"\nFor example: novarag {join(sys.argv[1:])} {flags}"


def _check_words(words: list[str]) -> None:
    """Refuse bytes that are no text: names of files and models go into JSON, which is UTF-8."""
    for word in words:
        if not word.isascii() and word != word.encode("utf-8", "replace").decode():
            raise UsageError(f"{word!r} is not text in UTF-8; rename the file, or write it anew")


def _line(error: Exception) -> str:
    kinds = [words for kind, words in _OF_THE_MACHINE.items() if isinstance(error, kind)]
    if not kinds or isinstance(error, NovaragError):
        return str(error)
    return f"{kinds[0]} ({error}); {TRACEBACK}=1 shows where"


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if "" not in sys.path:
        sys.path.append("")  # a module beside the user's data may be named as package.module:OBJECT
    if version:
        print(__version__)
        raise typer.Exit
