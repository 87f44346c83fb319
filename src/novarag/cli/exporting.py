"""The verb that writes a training set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from novarag.strategies import find_strategy
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.sft import Options
    from novarag.strategies import Strategy


_FEW = 50  # examples; below, nobody should expect anything


def export(
    filtered: Annotated[Path, typer.Argument(help="Folder that `novarag filter --out` wrote.")],
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
        float, typer.Option(help="Share of questions to set aside in a dev split, such as 0.1.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the dev split.")] = 0,
    model: Annotated[
        str | None, typer.Option(help="Whose replies to export, if there are several models.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="Model to train, for the LLaMA-Factory files: a name or a path."),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(help="A strategy of your own that was asked with: package.module:OBJECT."),
    ] = None,
) -> None:
    """Write what a filter kept as a training set, with a data card."""
    from novarag.errors import UsageError
    from novarag.sft import FORMATS, MAX_LENGTH, Options, load_ruler

    if max_length is not None and tokenizer is None:
        raise UsageError("--max-length counts tokens, so it needs --tokenizer")
    ruler = load_ruler(tokenizer, longest=max_length or MAX_LENGTH) if tokenizer else None
    options = Options(
        formats=formats or tuple(FORMATS), label_only=label_only, ruler=ruler, dev=dev, seed=seed,
        base=base,
    )  # fmt: skip
    write_export(filtered, out, options, model=model, own=strategy or [])


def write_export(
    filtered: Path, out: Path, options: Options, *, model: str | None, own: list[str]
) -> None:
    """Write the training set, and say what is in it."""
    from novarag.runs.group_table import read_groups
    from novarag.sft import export as write
    from novarag.sft import read_filtered

    source = read_filtered(filtered, model=model, read_groups=read_groups)
    facts = write(source, out, options, strategies=_strategies(own))
    _tell(facts, out)


def _strategies(names: list[str]) -> dict[str, Strategy]:
    """List the strategies by name, with the user's own among them."""
    from novarag.strategies import STRATEGIES

    return STRATEGIES | {found.name: found for found in map(find_strategy, names)}


def _warn(facts: dict[str, Any]) -> None:
    """Say what a model cannot learn from this set."""
    from novarag.taxonomy import GroupKind

    there = {row["kind"] for row in facts["examples"]}
    for kind in [str(kind) for kind in GroupKind if str(kind) not in there]:
        print(f"novarag: no example of the kind {kind}: it cannot be learnt", file=sys.stderr)
    total = sum(row["examples"] for row in facts["examples"] if row["all"])
    if total < _FEW:
        print(f"novarag: {total:,} examples are too few to train on", file=sys.stderr)


def _tell(facts: dict[str, Any], out: Path) -> None:
    for row in facts["examples"]:
        name = f"{row['split']}, {row['kind'] or 'kind not known'}"
        shown = row["split"] if row["all"] else f"  {plain_text(name)}"
        print(f"{shown:<28} {row['examples']:,} examples of {row['questions']:,} questions")
    for row in facts["rejected"]:
        print(f"{'rejected':<28} {row['count']:,}: {row['reason']}")
    print(f"wrote {out}: {', '.join(facts['formats'])}, a data card (README.md)")
    _warn(facts)
    splits = {row["split"] for row in facts["examples"]}
    if facts["dev_share"] and "dev" not in splits:
        print("novarag: no question fell to the dev split; give a larger --dev", file=sys.stderr)
    if facts["lengths"] is None:
        print(
            "novarag: lengths were not checked, and a trainer may cut the confidence off a long"
            " sample; give the tokenizer to reject those",
            file=sys.stderr,
        )
