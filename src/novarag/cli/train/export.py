"""The verb that writes a training set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.translate import said
from novarag.defaults import EXPORT
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.flows.export import Export


def export(
    filtered: Annotated[
        Path, typer.Argument(help="Folder that `novarag train filter --out` wrote.")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder to write: new, empty, or an earlier export to replace.")
    ],
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="canonical, llama-factory or openai; may be repeated; default: all of them.",
        ),
    ] = None,
    label_only: Annotated[
        bool,
        typer.Option("--label-only", help="Teach answer and confidence alone, without the steps."),
    ] = False,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="Folder or name of the model's tokenizer, to reject what is too long; needs the"
            " extra `tokenizer`."
        ),
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(min=1, help="Longest sample in tokens; default 2048; needs --tokenizer."),
    ] = None,
    dev: Annotated[
        float, typer.Option(help="Share of questions to set aside in a dev split; 0: none.")
    ] = EXPORT.dev,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the dev split.")] = 0,
    source: Annotated[
        str | None,
        typer.Option(help="Name of the model whose replies to export, if there are several."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Model that is trained: a folder or a name on the hub; for LLaMA-Factory."
        ),
    ] = None,
    levels: Annotated[
        int,
        typer.Option(
            help="Levels of confidence, 10 or 101, in the targets of `share` and `teacher`."
        ),
    ] = 10,
    strategy: Annotated[
        list[str] | None,
        typer.Option(help="A strategy of your own that was asked with: package.module:OBJECT."),
    ] = None,
) -> None:
    """Write what a filter kept as a training set, with a data card."""
    from novarag.flows.export import export_training_set

    if strategy:
        sys.path.insert(0, "")  # one beside the user's data, as `python -m` would find it
    done = export_training_set(
        filtered, out, formats=formats, label_only=label_only, tokenizer=tokenizer,
        max_length=max_length, dev=dev, seed=seed, source=source, base=base,
        levels=levels, strategies=strategy or (),
    )  # fmt: skip
    print_export(done)


def print_export(done: Export) -> None:
    """Print what is in a training set, and what it lacks on standard error."""
    for split in done.splits:
        _print_count(split.name, split.examples, split.questions)
        for row in split.kinds:
            name = plain_text(f"{split.name}, {row.kind or 'kind not known'}")
            _print_count(f"  {name}", row.examples, row.questions)
    for reason, count in done.rejected.items():
        print(f"{'rejected':<28} {count:,}: {reason}")
    print(f"wrote {done.place}: {', '.join(done.formats)}, a data card (README.md)")
    for warning in done.warnings:
        print(f"novarag: {said(warning)}", file=sys.stderr)


def _print_count(name: str, examples: int, questions: int) -> None:
    print(f"{name:<28} {examples:,} examples of {questions:,} questions")
