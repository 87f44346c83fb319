"""The verb that trains."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from novarag.atomic import write_whole
from novarag.cli.running import notice
from novarag.cli.screen import bar, duration
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.sft.train import Job, Progress

_PLAIN = 20  # lines, where nothing can be drawn


def train(
    export: Annotated[Path, typer.Argument(help="Folder that `novarag export` wrote.")],
    model: Annotated[
        str, typer.Option(help="The model whose replies these are: a folder, or a name on the hub.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the adapter, its card and its report.")],
    merge: Annotated[
        bool, typer.Option("--merge", help="Write the whole model with the adapter worked in, too.")
    ] = False,
    learning_rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 5e-5,
    epochs: Annotated[float, typer.Option(help="How often every sample is seen.")] = 2.0,
    rank: Annotated[int, typer.Option(min=1, help="Rank of the adapter; alpha is twice it.")] = 8,
    targets: Annotated[
        list[str] | None,
        typer.Option(help="Linear layers to adapt, repeatable.  [default: all seven of a llama]"),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Samples a step, over all devices.")] = 16,
    at_once: Annotated[int, typer.Option(min=1, help="Samples on one device at once.")] = 2,
    max_length: Annotated[
        int, typer.Option(min=1, help="Longest sample in tokens; longer ones are left out.")
    ] = 2048,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and order.")] = 42,
    checkpointing: Annotated[
        bool,
        typer.Option(
            "--gradient-checkpointing/--no-gradient-checkpointing",
            help="Less memory, more work.",
        ),
    ] = True,
    save_every: Annotated[
        int, typer.Option(min=0, help="Steps between checkpoints; 0: about ten a training.")
    ] = 0,
) -> None:
    """Train a model on an export with LoRA; run the same line again to go on after a kill.

    For several GPUs: accelerate launch -m novarag train ...
    """
    from novarag.sft.train import Settings, prepare
    from novarag.sft.train.settings import LINEAR
    from novarag.sft.train.training import check_packages

    settings = Settings(
        learning_rate=learning_rate, epochs=epochs, rank=rank, batch=batch, at_once=at_once,
        targets=tuple(dict.fromkeys(targets or LINEAR)), max_length=max_length, seed=seed,
        gradient_checkpointing=checkpointing, save_every=save_every,
    )  # fmt: skip
    check_packages()
    _train(prepare(export, model, out, settings), merged=merge)


def _train(job: Job, *, merged: bool) -> None:
    from novarag.report.training import training_page
    from novarag.sft.train import is_lead
    from novarag.sft.train import train as run

    if is_lead():
        _greet(job)
    told = run(job, tell=show, notice=notice, merged=merged)
    if is_lead():
        write_whole(job.out / "report.html", training_page(told).encode("utf-8"))
        _sum_up(job, told, merged=merged)


def _greet(job: Job) -> None:
    counts = [f"{len(part):,} samples" for name, part in job.splits.items() if name == "train"]
    counts += [f"{len(part):,} to watch" for name, part in job.splits.items() if name == "dev"]
    name = plain_text(job.base.name)
    print(f"{name}, {job.dataset.variant}: {', '.join(counts)}", file=sys.stderr)
    for split, reasons in job.left_out.items():
        for reason, count in reasons.items():
            print(f"left out of {split} {count:,}: {reason}", file=sys.stderr)
    if "dev" in job.dataset.splits and "dev" not in job.splits:
        print("no sample is left in dev.jsonl: its loss is not watched", file=sys.stderr)


def _sum_up(job: Job, told: dict[str, Any], *, merged: bool) -> None:
    first, last = told["losses"][0]["loss"], told["losses"][-1]["loss"]
    print(
        f"{len(told['losses']):,} steps, loss {first:.3f} at the first and {last:.3f} at the last"
    )
    more = ", merged/" if merged else ""
    print(f"wrote {job.out}: adapter/{more}, a model card (README.md), report.html")
    print(f"next: novarag serve-model {job.out}")


def show(now: Progress) -> None:
    """Draw how far the training is, or say it at every twentieth where nothing can be drawn."""
    pace = now.tokens / now.seconds if now.seconds else 0
    line = (
        f"step {now.step:,} of {now.steps:,} · loss {now.loss:.3f} · {pace:,.0f} tokens/s ·"
        f" {duration(now.left)} left"
    )
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        sys.stderr.write("\r\x1b[2K" + f"{bar(now.step / now.steps, 10)} {line}"[: width - 1])
        if now.step == now.steps:
            sys.stderr.write("\n")
    elif now.step * _PLAIN // now.steps > (now.step - 1) * _PLAIN // now.steps:
        sys.stderr.write(line + "\n")
    sys.stderr.flush()
