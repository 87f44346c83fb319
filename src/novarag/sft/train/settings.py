"""The settings of a training, each with where it is from: the paper, or an assumption of ours."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf
from typing import Any

from novarag.defaults import TRAIN
from novarag.errors import UsageError

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of a llama-like model, which LLaMA-Factory calls `all`."""

SAID = {
    "learning_rate": "paper: 5e-5",
    "epochs": "paper: 2 epochs",
    "max_length": "paper: 2048 tokens",
    "rank": "assumed: the paper keeps the defaults of LLaMA-Factory",
    "alpha": "assumed: twice the rank, the default",
    "dropout": "assumed: the default",
    "targets": "assumed: all linear layers, the default",
    "schedule": "assumed: cosine",
    "warmup_steps": "assumed: none, the default",
    "batch": "assumed: 16 samples a step, over all devices",
    "at_once": "assumed: samples on one device at once; no result depends on it but by rounding",
    "seed": "assumed: the default",
    "gradient_checkpointing": "assumed: less memory for more work",
    "save_every": "assumed: about ten checkpoints a training",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How a model is trained; `save_every` 0 means about ten checkpoints in all."""

    learning_rate: float = TRAIN.learning_rate
    epochs: float = TRAIN.epochs
    max_length: int = TRAIN.max_length
    rank: int = TRAIN.rank
    alpha: int | None = None
    dropout: float = 0.0
    targets: tuple[str, ...] = LINEAR
    schedule: str = "cosine"
    warmup_steps: int = 0
    batch: int = TRAIN.batch
    at_once: int = TRAIN.at_once
    seed: int = TRAIN.seed
    gradient_checkpointing: bool = TRAIN.gradient_checkpointing
    save_every: int = TRAIN.save_every

    def __post_init__(self) -> None:
        if self.alpha is None:
            object.__setattr__(self, "alpha", 2 * self.rank)
        positive = ("learning_rate", "epochs", "max_length", "rank", "alpha", "batch", "at_once")
        for name in positive:
            if not 0 < getattr(self, name) < inf:
                raise UsageError(f"`{name}` must be a number above 0")
        if not self.targets:
            raise UsageError("`targets` must name a layer")
        if self.batch % self.at_once:
            raise UsageError(
                f"a step of {self.batch} samples cannot be taken {self.at_once} at a time; give"
                " `batch` and `at_once` such that the first is a multiple of the second"
            )

    def accumulation(self, devices: int) -> int:
        """Return how many times samples are taken on each device for one step."""
        rounds, left = divmod(self.batch, self.at_once * devices)
        if left or not rounds:
            raise UsageError(
                f"a step of {self.batch} samples cannot be shared by {devices} devices that take"
                f" {self.at_once} at a time; change `batch` or `at_once`"
            )
        return rounds


def labelled(settings: TrainingSettings) -> list[dict[str, Any]]:
    """List every setting with its value and where it is from; a changed one says so."""
    usual = TrainingSettings()
    told = []
    for name in (field.name for field in fields(settings)):
        value, default = getattr(settings, name), getattr(usual, name)
        if name == "alpha":
            default = 2 * settings.rank
        said = SAID[name] if value == default else f"set: not the default ({shown(default)})"
        told.append({"name": name, "value": _plain(value), "said": said})
    return told


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def shown(value: object) -> str:
    """Write a value of a setting for people.

    >>> shown(True), shown(("q_proj", "v_proj")), shown(5e-5), shown(2.0)
    ('yes', 'q_proj, v_proj', '5e-05', '2')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
