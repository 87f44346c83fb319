"""A training from beginning to end: checks, resuming, adapter, merged weights, what is told."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import orjson

from novarag.errors import StorageError, UsageError
from novarag.sft.card import count_examples
from novarag.sft.lengths import Ruler, load_ruler
from novarag.sft.train.base import Base, find_base
from novarag.sft.train.checkpoints import newest, step_of
from novarag.sft.train.model_card import write_card
from novarag.sft.train.rows import read_dataset, sound
from novarag.sft.train.settings import Settings, labelled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from novarag.sft.examples import Example
    from novarag.sft.train.progress import Progress
    from novarag.sft.train.rows import Dataset

MADE_BY = "novarag train"
PLAN, TOLD = "plan.json", "training.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is trained on what, and where it goes."""

    base: Base
    ruler: Ruler
    dataset: Dataset
    splits: dict[str, tuple[Example, ...]]
    left_out: dict[str, int]
    settings: Settings
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


def prepare(export: Path, model: str, out: Path, settings: Settings) -> Job:
    """Read what is to be trained on, and check it against the model and the place."""
    dataset = read_dataset(export)
    base = find_base(model)
    ruler = load_ruler(base.place, longest=settings.max_length)
    checked = {name: sound(examples, ruler) for name, examples in dataset.splits.items()}
    if not checked["train"].examples:
        said = "; ".join(f"{n:,}: {why}" for why, n in checked["train"].left_out.items())
        raise UsageError(f"no sample is left to train on ({said or 'train.jsonl is empty'})")
    job = Job(
        base=base,
        ruler=ruler,
        dataset=dataset,
        splits={name: part.examples for name, part in checked.items() if part.examples},
        left_out=checked["train"].left_out,
        settings=settings,
        out=out,
    )
    _check_place(job)
    return job


def _check_place(job: Job) -> None:
    """Refuse a place that holds something else, or a training that was begun otherwise."""
    if not job.out.exists():
        return
    if not job.out.is_dir() or (any(job.out.iterdir()) and not (job.out / PLAN).is_file()):
        raise UsageError(f"{job.out} holds something else; name another folder with --out")
    if (job.out / PLAN).is_file():
        begun = orjson.loads((job.out / PLAN).read_bytes())
        other = [name for name, value in job.plan.items() if begun.get(name) != value]
        if other:
            raise UsageError(
                f"{job.out} was begun with other {', '.join(other)}; give the same to go on, or"
                " name another folder with --out"
            )


def train(
    job: Job,
    *,
    tell: Callable[[Progress], None],
    notice: Callable[[str], None],
    merged: bool = False,
    engine: Any = None,  # noqa: ANN401 - the module `engine`, or what stands in for it
) -> dict[str, Any]:
    """Train, or go on from the last sealed checkpoint; return what training.json holds.

    What is finished already is not done again.
    """
    engine = engine or load_engine()
    lead = int(os.environ.get("RANK", "0")) == 0  # with several devices one process writes
    told = _finished(job.out)
    if told is None:
        told = _fit(job, engine, tell=tell, notice=notice, lead=lead)
    if merged and lead and not (job.out / "merged").is_dir():
        engine.merge(job.base.place, job.out / "adapter", job.out / "merged", job.base.dtype)
    return told


def load_engine() -> Any:  # noqa: ANN401 - a module
    """Import the trainer, which comes with an extra."""
    try:
        return import_module("novarag.sft.train.engine")
    except ImportError as error:
        raise UsageError(f"training needs: pip install 'novarag[train]' ({error})") from None


def _finished(out: Path) -> dict[str, Any] | None:
    path = out / TOLD
    return orjson.loads(path.read_bytes()) if path.is_file() else None


def _fit(
    job: Job,
    engine: Any,  # noqa: ANN401
    *,
    tell: Callable[[Progress], None],
    notice: Callable[[str], None],
    lead: bool,
) -> dict[str, Any]:
    checkpoints = job.out / "checkpoints"
    if lead:
        checkpoints.mkdir(parents=True, exist_ok=True)
        _write(job.out / PLAN, job.plan)
    resume, damaged = newest(checkpoints)
    for name in damaged:
        notice(f"{name} was not whole and is cleared away")
    if resume is not None:
        notice(f"going on after step {step_of(resume):,}")
    log = engine.fit(job, resume, tell)
    told = _tell(job, log, engine)
    if lead:
        _write(job.out / TOLD, told)
        write_card(told, job.out)
        shutil.rmtree(checkpoints)
    return told


def _tell(job: Job, log: list[dict[str, Any]], engine: Any) -> dict[str, Any]:  # noqa: ANN401
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
        "left_out": [{"reason": why, "count": n} for why, n in job.left_out.items()],
        "data": {"files": list(job.dataset.files), "card": job.dataset.card},
        "losses": [_loss(row) for row in log if "loss" in row],
        "dev_losses": [
            {"step": row["step"], "loss": row["eval_loss"]} for row in log if "eval_loss" in row
        ],
    }


def _loss(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "step": row["step"],
        "epoch": row["epoch"],
        "loss": row["loss"],
        "learning_rate": row["learning_rate"],
        "tokens": int(row.get("num_tokens", 0)),
    }


def _sample(job: Job) -> dict[str, Any]:
    """Render one prompt as the trainer did, for whoever serves the model to compare."""
    prompt = job.splits["train"][0].prompt
    text, tokens = job.ruler.render(prompt)
    return {"prompt": prompt, "text": text, "tokens": tokens}


def _write(path: Path, told: dict[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("wb") as file:
            file.write(orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
