"""Training a model on an export."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novarag.calls import simulated_note
from novarag.flows.events import Note, Notice, TrainingProgress, silent
from novarag.prose import say
from novarag.sft.train.settings import TrainingSettings
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from novarag.flows.events import EventListener
    from novarag.sft.train.training import TrainingJob

_FEW = 10  # steps: the paper's training set gives fourteen


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TrainingResult:
    """A trained model as it was written.

    `samples` counts what was trained on and watched, by split; `left_out` the rest, by split and
    reason. `losses` has one loss a step. `facts` is what training.json holds. Of several processes
    that train together, only the one that is `lead` writes and tells.
    """

    place: Path
    base: str
    samples: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]
    losses: tuple[float, ...]
    merged: bool
    lead: bool
    facts: Mapping[str, Any]

    @property
    def adapter(self) -> Path:
        """The folder of the adapter."""
        return self.place / "adapter"

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {count:,}" for name, count in self.samples.items())
        return "\n  ".join([
            f"TrainingResult of {self.base!r} at {str(self.place)!r}",
            f"samples: {counts}",
            f"{len(self.losses):,} steps, loss {self.losses[0]:.3f} to {self.losses[-1]:.3f}",
            f"merged: {'yes' if self.merged else 'no'}",
        ])  # fmt: skip


def train_model(
    export: str | Path,
    base: str | Path,
    out: str | Path,
    *,
    settings: TrainingSettings | None = None,
    merge: bool = False,
    on_event: EventListener = silent,
) -> TrainingResult:
    """Train a model on an export with LoRA; call it again with the same to go on after a kill.

    Several processes may call it together, as `accelerate launch` makes them do.

    Args:
        export: The folder that `export_training_set` wrote.
        base: The model that is trained, whose replies these are: a folder, or a name on the hub.
        out: The folder for the adapter, its card and its report.
        settings: How to train; the paper's and its released settings by default.
        merge: Write the whole model with the adapter worked in, too.
        on_event: Hears what was found, and how far the training is.
    """
    from novarag.sft.train.training import check_packages, is_lead, prepare, train

    if settings is not None and not isinstance(settings, TrainingSettings):
        raise TypeError(f"settings must be TrainingSettings, not {type(settings).__name__}")
    check_packages()
    job = prepare(Path(export), str(base), Path(out), settings or TrainingSettings())
    lead = is_lead()
    hear = on_event if lead else silent
    for line in _beginning(job):
        hear(Note(line))
    facts = train(
        job,
        on_event=lambda now: hear(TrainingProgress(now)),
        notice=lambda line: hear(Notice(line)),
        merged=merge,
    )
    if lead:
        _write_page(job.out, facts)
    return TrainingResult(
        place=job.out,
        base=job.base.name,
        samples={name: len(part) for name, part in job.splits.items()},
        left_out=job.left_out,
        losses=tuple(row["loss"] for row in facts["losses"]),
        merged=merge,
        lead=lead,
        facts=facts,
    )


def _write_page(out: Path, facts: Mapping[str, Any]) -> None:
    from novarag.atomic import write_whole
    from novarag.report.training import training_page

    write_whole(out / "report.html", training_page(facts).encode())


def _beginning(job: TrainingJob) -> Iterator[str]:
    """Say what is trained on, and what is left out of it."""
    counts = [f"{len(part):,} samples" for name, part in job.splits.items() if name == "train"]
    counts += [f"{len(part):,} to watch" for name, part in job.splits.items() if name == "dev"]
    yield f"{plain_text(job.base.name)}, {job.dataset.variant}: {', '.join(counts)}"
    for split, reasons in job.left_out.items():
        for reason, count in reasons.items():
            yield f"left out of {split} {count:,}: {reason}"
    if job.dataset.card is not None:
        yield from simulated_note(job.dataset.card.get("model", ""))
    if job.settings.is_scored and job.dataset.is_filtered:
        yield (
            say(
                "these replies were filtered, so they are right more often than what the model"
                " says; the confidence alone is better trained on an export of `unfiltered=True`"
            )
        )
    samples, batch = len(job.splits["train"]), job.settings.batch
    if (steps := job.settings.steps(samples)) < _FEW:
        each = min(samples, batch)
        yield say("{:,} steps in all, of {:,} samples: a smaller `batch` gives more", steps, each)
    if "dev" in job.dataset.splits and "dev" not in job.splits:
        yield "no sample is left in dev.jsonl: its loss is not watched"
