"""A training from beginning to end: checks, resuming, adapter, merged weights, what is told."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from novarag.errors import StorageError, UsageError
from novarag.imports import with_extra
from novarag.sft.card import count_examples
from novarag.sft.lengths import TokenRuler, load_ruler
from novarag.sft.levels import ConfidenceLevels
from novarag.sft.train.base import BaseWeights, find_base
from novarag.sft.train.checkpoints import newest, step_of
from novarag.sft.train.model_card import write_card
from novarag.sft.train.rows import read_dataset, sound
from novarag.sft.train.scored import NO_LEVEL, level_tokens, take_turns
from novarag.sft.train.settings import TrainingSettings, labelled
from novarag.sft.train.workdir import FACTS, PLAN, check_place, finished, write_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from novarag.sft.examples import TrainingExample
    from novarag.sft.train.progress import TrainingSnapshot
    from novarag.sft.train.rows import ExportedDataset, SoundSamples

MADE_BY = "novarag train"
_NEEDED = ("torch", "transformers", "peft", "trl", "accelerate", "datasets")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """What is trained on what, and where it goes; `left_out` counts reasons by split."""

    base: BaseWeights
    ruler: TokenRuler
    dataset: ExportedDataset
    splits: dict[str, tuple[TrainingExample, ...]]
    left_out: dict[str, dict[str, int]]
    settings: TrainingSettings
    out: Path

    @property
    def plan(self) -> dict[str, Any]:
        """Say what decides the result; a training goes on only with the same."""
        asked = asdict(replace(self.settings, save_every=0))
        return {
            "made_by": MADE_BY,
            "base": {"name": self.base.name, "fingerprint": self.base.fingerprint},
            "tokenizer_sha256": self.ruler.fingerprint,
            "files": list(self.dataset.files),
            "settings": {k: list(v) if isinstance(v, tuple) else v for k, v in asked.items()},
        }


def prepare(export: Path, model: str, out: Path, settings: TrainingSettings) -> TrainingJob:
    """Read what is to be trained on, and check it against the model and the place."""
    dataset = read_dataset(export)
    base = find_base(model)
    ruler = load_ruler(base.place, longest=settings.max_length)
    checked = {
        name: _checked(examples, ruler, settings) for name, examples in dataset.splits.items()
    }
    if not checked["train"].examples:
        said = "; ".join(f"{n:,}: {why}" for why, n in checked["train"].left_out.items())
        raise UsageError(f"no sample is left to train on ({said or 'train.jsonl is empty'})")
    job = TrainingJob(
        base=base,
        ruler=ruler,
        dataset=dataset,
        splits={name: part.examples for name, part in checked.items() if part.examples},
        left_out={name: part.left_out for name, part in checked.items()},
        settings=settings,
        out=out,
    )
    check_place(job.out, job.plan)
    return job


def _checked(
    examples: tuple[TrainingExample, ...], ruler: TokenRuler, settings: TrainingSettings
) -> SoundSamples:
    """Leave out what cannot be learnt as it is, by the loss that is to be minimised."""
    if not settings.is_scored:
        return sound(examples, ruler, numbered=settings.mask_confidence)
    levels = ConfidenceLevels(settings.levels)
    found = sound(take_turns(examples, levels), ruler)
    if not found.examples:
        return found
    tokens = level_tokens(found.examples[0], ruler, levels)
    return found.where(lambda example: tokens.fit(example, ruler), otherwise=NO_LEVEL)


def is_lead() -> bool:
    """Say whether this process writes and speaks: with several devices, one of them does."""
    return int(os.environ.get("RANK", "0")) == 0


def train(
    job: TrainingJob,
    *,
    on_event: Callable[[TrainingSnapshot], None],
    notice: Callable[[str], None],
    merged: bool = False,
    engine: Any = None,  # noqa: ANN401 - the module `engine`, or what stands in for it
) -> dict[str, Any]:
    """Train, or go on from the last sealed checkpoint; return what training.json holds.

    What is finished already is not done again.
    """
    facts = finished(job.out)
    if facts is None:
        facts = _fit(job, engine or load_engine(), on_event=on_event, notice=notice)
    if is_lead():
        _wind_up(job, facts)
        if merged and not (job.out / "merged").is_dir():
            engine = engine or load_engine()
            engine.merge(job.base.place, job.out / "adapter", job.out / "merged", job.base.dtype)
    return facts


def _wind_up(job: TrainingJob, facts: dict[str, Any]) -> None:
    """Write what a kill after the last step may have kept from being written."""
    try:
        write_card(facts, job.out)
        shutil.rmtree(job.out / "checkpoints", ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"cannot write {job.out}: {error.strerror or error}; fix that and run the same again"
        ) from error


def check_packages() -> None:
    """See that the packages of training are there, before minutes are spent on anything else."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"training needs: {with_extra('train')} (not there: {', '.join(missing)})")


def load_engine() -> Any:  # noqa: ANN401 - a module
    """Import the trainer, which comes with an extra."""
    try:
        return import_module("novarag.sft.train.engine")
    except ImportError as error:
        raise UsageError(f"training needs: {with_extra('train')} ({error})") from None


def _fit(
    job: TrainingJob,
    engine: Any,  # noqa: ANN401
    *,
    on_event: Callable[[TrainingSnapshot], None],
    notice: Callable[[str], None],
) -> dict[str, Any]:
    plan = job.plan | {"precision": engine.precision()}
    check_place(job.out, plan)
    if is_lead():
        write_json(job.out / PLAN, plan)
    resume, damaged = newest(job.out / "checkpoints", clear=is_lead())
    if is_lead():
        for name in damaged:
            notice(f"{name} was not whole and is cleared away")
        if resume is not None:
            notice(f"going on after step {step_of(resume):,}")
    log = engine.fit(job, resume, on_event)
    facts = _tell(job, log, engine)
    if is_lead():
        write_json(job.out / FACTS, facts)
    return facts


def _tell(job: TrainingJob, log: list[dict[str, Any]], engine: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        **job.plan,
        "base": asdict(job.base),
        "version": version("novarag"),
        "variant": job.dataset.variant,
        "precision": engine.precision(),
        "versions": {name: version(name) for name in engine.PACKAGES},
        "settings": labelled(job.settings),
        "sample": _sample(job),
        "examples": count_examples(job.splits),
        "left_out": [
            {"split": split, "reason": why, "count": n}
            for split, reasons in job.left_out.items()
            for why, n in reasons.items()
        ],
        "data": {"files": list(job.dataset.files), "card": job.dataset.card},
        "losses": [_loss(row) for row in log if "loss" in row],
        "dev_losses": [
            {"step": row["step"], "loss": row["eval_loss"]} for row in log if "eval_loss" in row
        ],
    }


def _loss(row: dict[str, Any]) -> dict[str, Any]:
    """Take from a row of the log what is told; tokens and seconds are of the whole training."""
    return {
        "step": row["step"],
        "epoch": row["epoch"],
        "loss": row["loss"],
        "learning_rate": row["learning_rate"],
        "tokens": int(row.get("tokens", row.get("num_tokens", 0))),
        "seconds": round(float(row.get("seconds", 0)), 3),
    }


def _sample(job: TrainingJob) -> dict[str, Any]:
    """Render one prompt as the trainer did, for whoever serves the model to compare."""
    prompt = job.splits["train"][0].prompt
    text, tokens = job.ruler.render(prompt)
    return {"prompt": prompt, "text": text, "tokens": tokens}
