"""The command line: parse, call, print. No logic lives here."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag import __version__
from novarag.errors import NovaragError, UnknownName, UsageError
from novarag.strategies.confidence import Scale

if TYPE_CHECKING:
    from novarag.records import Reading
    from novarag.strategies import Labels, Strategy

app = typer.Typer(
    name="novarag",
    help="Calibrated confidence for retrieval-augmented language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; what we raise on purpose becomes one line and exit code 2."""
    try:
        app()
    except (NovaragError, OSError) as error:
        print(f"novarag: {error}", file=sys.stderr)
        sys.exit(2)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def _strategy(name: str) -> Strategy:
    """Find a strategy by name, or import one given as package.module:OBJECT."""
    from novarag.strategies import STRATEGIES, Strategy

    if ":" in name:
        module, _, attribute = name.partition(":")
        sys.path.insert(0, "")  # a module beside the user's data, as `python -m` would find it
        try:
            found = getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            raise UsageError(f"{name!r} cannot be imported: {error}") from error
        if not isinstance(found, Strategy):
            raise UsageError(f"{name!r} is not a Strategy but a {type(found).__name__}")
        return found
    if name not in STRATEGIES:
        raise UnknownName(name, STRATEGIES)
    return STRATEGIES[name]


def _labels(name: str, scale: Scale | None = None) -> Labels:
    """Find how replies are labelled: by a strategy, or by a preset for a foreign format."""
    from novarag.strategies import FORMATS, STRATEGIES

    if name in FORMATS:
        labels = FORMATS[name]
    elif ":" in name or name in STRATEGIES:
        labels = _strategy(name).labels
    else:
        raise UnknownName(name, [*STRATEGIES, *FORMATS])
    return replace(labels, scale=scale) if scale else labels


_OURS = "vanilla, cot, multi-step, noise-aware, nova, label-only, closed-book"
_PAPERS = "vanilla-paper, cot-paper, multi-step-paper, noise-aware-paper, nova-paper"
_PRESETS = "guess-probability, answer-tags, probability-yes"
_StrategyName = Annotated[
    str,
    typer.Option("--strategy", "-s", help=f"{_OURS}; {_PAPERS}; or package.module:OBJECT."),
]
_ReaderName = Annotated[
    str,
    typer.Option(
        "--strategy",
        "-s",
        help=f"How the reply is laid out: {_OURS}; other formats: {_PRESETS};"
        " or package.module:OBJECT.",
    ),
]
_ScaleName = Annotated[
    Scale | None,
    typer.Option(help="What a bare number in a reply means: 0%-100%, 0-100 or 0-1."),
]


@app.command()
def render(
    group: Annotated[
        Path | None,
        typer.Argument(
            help="Question and passages: one in .json, many in .jsonl, .parquet or .csv; left"
            " out, an example."
        ),
    ] = None,
    strategy: _StrategyName = "nova",
    show_hash: Annotated[
        bool, typer.Option("--hash", help="Print the hashes of template and prompt to stderr.")
    ] = False,
) -> None:
    """Print the prompt that a strategy makes of a question and its passages."""
    from novarag.datasets import load_groups
    from novarag.examples import EXAMPLE_GROUP

    chosen = _strategy(strategy)
    for one in load_groups(group) if group else [EXAMPLE_GROUP]:
        prompt = chosen.render(one)
        sys.stdout.write(prompt.text)
        if show_hash:
            print(f"template {prompt.template_hash}\nprompt   {prompt.hash}", file=sys.stderr)


@app.command("read")
def read_reply(
    strategy: _ReaderName = "nova",
    k: Annotated[
        int | None, typer.Option("--k", min=0, help="How many passages the prompt showed.")
    ] = None,
    scale: _ScaleName = None,
) -> None:
    """Read a reply on standard input and print what was read as one JSON object."""
    from novarag.strategies import read

    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    print(json.dumps(_reading(read(text, _labels(strategy, scale), k=k)), ensure_ascii=False))


def _reading(reading: Reading) -> dict[str, object]:
    judgment = reading.judgment
    return {
        "answer": reading.answer,
        "confidence": reading.confidence,
        "judgment": judgment and {"passages": judgment.passages, "group": judgment.group},
        "flaw": reading.flaw,
        "remarks": reading.remarks,
        "spans": reading.spans,
    }


@app.command()
def example(
    file: Annotated[Path, typer.Argument(help="CSV file to write.")] = Path("answers.csv"),
) -> None:
    """Write a simulated table of answers to try `novarag measure` on."""
    from novarag.examples import simulated_answers

    if file.suffix != ".csv":
        raise UsageError(f"{file} must end in .csv, as it will be one")
    if file.exists():
        raise UsageError(f"{file} exists already; name another file")
    file.write_text(simulated_answers(), encoding="utf-8")
    then = f"novarag measure {file} --by system --out report"
    print(f"wrote {file}: 480 simulated answers; next: {then}")


@app.command()
def measure(
    files: Annotated[list[Path], typer.Argument(help="Tables of answers: JSONL, Parquet or CSV.")],
    confidence: Annotated[
        str, typer.Option(help="Column with the confidence, 0 to 1; empty where unread.")
    ] = "confidence",
    correct: Annotated[
        str, typer.Option(help="Column that says whether the answer is right: true/false or 1/0.")
    ] = "correct",
    question: Annotated[
        str | None,
        typer.Option(
            help="Column that names the question; default 'question', else each row is its own."
        ),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Column to group by; may be given more than once.")
    ] = None,
    percent: Annotated[
        bool, typer.Option("--percent", help="The confidence column holds 0 to 100.")
    ] = False,
    unread: Annotated[
        list[float] | None,
        typer.Option(help="Value that marks an unread reply, such as -1; may be repeated."),
    ] = None,
    reply: Annotated[
        str | None,
        typer.Option(help="Column with raw replies, read with --strategy instead of --confidence."),
    ] = None,
    strategy: _ReaderName = "nova",
    scale: _ScaleName = None,
    gold: Annotated[
        str | None,
        typer.Option(help="Column with accepted answers, graded instead of --correct."),
    ] = None,
    answer: Annotated[
        str, typer.Option(help="Column with the answer, for --gold without --reply.")
    ] = "answer",
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html, report.md and report.json.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON on standard output.")
    ] = False,
    title: Annotated[
        str, typer.Option(help="Title of the report.")
    ] = "How honest is the confidence?",
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """Measure how honest stated confidences are, and write a report."""
    from novarag.datasets import Columns, load_answers, rows_stand_alone
    from novarag.metrics import measure as measured
    from novarag.report import Heading, plain_text, summary, to_json, write_report

    columns = Columns(
        confidence=confidence, correct=correct, question=question, percent=percent,
        unread=tuple(unread or ()), reply=reply, answer=answer, gold=gold,
    )  # fmt: skip
    table = load_answers(files, columns, labels=_labels(strategy, scale) if reply else None)
    bar = typer.progressbar(
        length=replicates, label="resampling", file=sys.stderr, hidden=not sys.stderr.isatty()
    )
    with bar:
        found = measured(table, by=by or (), replicates=replicates, seed=seed, progress=bar.update)
    heading = Heading(
        title=title,
        sources=[f.name for f in files],
        made=datetime.now(UTC).strftime("%Y-%m-%d"),
        version=__version__,
        notes=["Every row counts as its own question."] if rows_stand_alone(table) else [],
    )
    if out is not None:
        for path in write_report(found, heading, out):
            print(f"wrote {path}", file=sys.stderr)
    if as_json:
        print(to_json(found, heading))
    else:
        for line in summary(found):
            print(f"- {plain_text(line, longest=1000)}")
