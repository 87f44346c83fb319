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
from novarag.cli.verbs import GROUPS, PANELS, SUMMARIES, names_in
from novarag.defaults import LARGEST
from novarag.errors import NovaragError, UsageError
from novarag.version import __version__

_FUNCTION_OF = {"filter": "filter_trials", "list": "list_keys"}
"""Verbs whose own name is a builtin's, and their functions."""


def _bounded(_: object, __: object, value: object) -> object:
    """Refuse whole numbers that no file of ours can hold, whatever the option."""
    numbers = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(number, int) and abs(number) > LARGEST for number in numbers):
        raise typer.BadParameter(f"is over {LARGEST}.")
    return value


def _load_verb(path: str) -> TyperCommand:
    """Load the module of a verb; verbs of a group within a group share one."""
    words = path.replace("-", "_").split()
    module = import_module(".".join(["novarag.cli", *words[:2]]))
    verb = getattr(module, _FUNCTION_OF.get(words[-1], words[-1]))
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    one.command(path.split()[-1], cls=getattr(verb, "command_class", None))(verb)
    found = cast("TyperCommand", typer.main.get_command(one))
    found.name = path.split()[-1]
    found.short_help = SUMMARIES[path]  # whole, where lists of verbs would cut it
    for param in found.params:
        if param.callback is None:
            param.callback = _bounded
    return found


class VerbGroup(TyperGroup):
    """Verbs and groups of verbs; a verb is imported only when its own help is shown, or called."""

    path: str = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - as click calls it
        """Print the help where no verb is named, and end as a wrong call does."""
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help())
            ctx.exit(ExitCode.REFUSED)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        """Name what is in the group in the order of the help."""
        return names_in(self.path)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as typer calls it
        """Write the help without what draws boxes, which takes longer to load than all else."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write what is in the group, and what each does; no verb is loaded."""
        names = names_in(self.path)
        panels = {"Verbs": tuple(names)} if self.path else PANELS
        width = max(map(len, names))
        for panel, shown in panels.items():
            with formatter.section(panel):
                formatter.write_dl([(n.ljust(width), SUMMARIES[self._of(n)]) for n in shown])

    def _of(self, name: str) -> str:
        return f"{self.path} {name}".strip()

    def get_command(  # type: ignore[override]
        self,
        ctx: typer.Context,  # noqa: ARG002 - as click calls it
        cmd_name: str,
    ) -> TyperCommand | TyperGroup | None:
        """Load one verb, or make the group of that name."""
        path = self._of(cmd_name)
        if path not in SUMMARIES or " " in cmd_name:
            return None
        if path not in GROUPS:
            return _load_verb(path)
        summary = SUMMARIES[path]
        group = VerbGroup(
            name=cmd_name, help=summary, short_help=summary, context_settings=_CONTEXT
        )
        group.path = path
        return group

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
        if self.path:
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except NovaragError as error:
            from novarag.cli.translate import said

            error.args = (said(error.prose),)
            raise


_CONTEXT = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="novarag",
    cls=VerbGroup,
    help="Calibrated confidence for retrieval-augmented language models.",
    epilog=epilogue(),
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_CONTEXT,
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
