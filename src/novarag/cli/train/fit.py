"""The verb that trains."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from novarag.cli.console import bar, duration, screen
from novarag.flows.events import TrainingProgress
from novarag.sft.train.settings import LINEAR, TrainingSettings

if TYPE_CHECKING:
    from novarag.flows.events import Event
    from novarag.flows.train import TrainingResult
    from novarag.sft.train.progress import TrainingSnapshot

_PLAIN = 20  # lines, where nothing can be drawn
_USUAL = TrainingSettings()


def fit(
    export: Annotated[Path, typer.Argument(help="Folder that `novarag train export` wrote.")],
    base: Annotated[
        str,
        typer.Option(
            help="Model that is trained: a folder or a name on the hub; it gave these replies."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the adapter, its card and its report.")],
    merge: Annotated[
        bool, typer.Option("--merge", help="Write the whole model with the adapter worked in, too.")
    ] = False,
    learning_rate: Annotated[
        float, typer.Option(help="Highest learning rate.")
    ] = _USUAL.learning_rate,
    epochs: Annotated[float, typer.Option(help="How often every sample is seen.")] = _USUAL.epochs,
    rank: Annotated[
        int, typer.Option(min=1, help="Rank of the adapter; alpha is twice it.")
    ] = _USUAL.rank,
    warmup: Annotated[
        float, typer.Option(help="Share of the steps in which the learning rate rises.")
    ] = _USUAL.warmup,
    targets: Annotated[
        list[str] | None,
        typer.Option(help="Linear layers to adapt, repeatable; by default all seven of a llama."),
    ] = None,
    upper_layers: Annotated[
        int,
        typer.Option(
            min=0, help="Adapt the last so many layers alone, which is quicker; 0: all layers."
        ),
    ] = _USUAL.upper_layers,
    batch: Annotated[
        int, typer.Option(min=1, help="Samples a step, over all devices.")
    ] = _USUAL.batch,
    at_once: Annotated[
        int, typer.Option(min=1, help="Samples on one device at once, at most.")
    ] = _USUAL.at_once,
    max_length: Annotated[
        int, typer.Option(min=1, help="Longest sample in tokens; longer ones are left out.")
    ] = _USUAL.max_length,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and order.")] = _USUAL.seed,
    checkpointing: Annotated[
        bool,
        typer.Option(
            "--gradient-checkpointing/--no-gradient-checkpointing",
            help="Less memory, more work.",
        ),
    ] = _USUAL.gradient_checkpointing,
    save_every: Annotated[
        int, typer.Option(min=0, help="Steps between checkpoints; 0: about ten a training.")
    ] = _USUAL.save_every,
    mask_confidence: Annotated[
        bool,
        typer.Option(
            "--mask-confidence",
            help="Leave the number of the confidence out of the loss, as a warm-up should.",
        ),
    ] = _USUAL.mask_confidence,
    loss: Annotated[
        Literal["text", "level-entropy", "tokenized-brier", "mean-brier"],
        typer.Option(help="Of the whole completion, or of the confidence alone (the other three)."),
    ] = "text",
    levels: Annotated[
        int, typer.Option(help="Levels of confidence, 10 or 101, where it is trained alone.")
    ] = _USUAL.levels,
) -> None:
    """Train a model on an export with LoRA; run the same line again to go on after a kill.

    For several GPUs: accelerate launch -m novarag train fit ...
    """
    from novarag.flows.train import train_model

    settings = TrainingSettings(
        learning_rate=learning_rate, epochs=epochs, rank=rank, warmup=warmup, batch=batch,
        at_once=at_once, targets=tuple(dict.fromkeys(targets or LINEAR)), max_length=max_length,
        seed=seed, gradient_checkpointing=checkpointing, save_every=save_every,
        mask_confidence=mask_confidence, loss=loss, levels=levels, upper_layers=upper_layers,
    )  # fmt: skip
    with screen() as on_event:

        def hear(event: Event) -> None:
            if isinstance(event, TrainingProgress):
                show(event.now)
            else:
                on_event(event)

        done = train_model(export, base, out, settings=settings, merge=merge, on_event=hear)
    if done.lead:
        _sum_up(done)


def _sum_up(done: TrainingResult) -> None:
    first, last = done.losses[0], done.losses[-1]
    print(f"{len(done.losses):,} steps, loss {first:.3f} at the first and {last:.3f} at the last")
    more = ", merged/" if done.merged else ""
    print(f"wrote {done.place}: adapter/{more}, a model card (README.md), report.html")
    print(f"next: novarag train serve {done.place}")


def show(now: TrainingSnapshot) -> None:
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
