"""The settings of a training, each with where it is from.

`paper` is what the paper states, `released` what the LLaMA-Factory files say that its authors
released since, `assumed` a choice of ours where neither says anything.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import ceil, inf
from typing import Any

from novarag.defaults import TRAIN
from novarag.errors import UnknownNameError, UsageError
from novarag.sft.levels import ConfidenceLevels

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of a llama-like model, which LLaMA-Factory calls `all`."""

SAID = {
    "learning_rate": "paper: 5e-5",
    "epochs": "paper: 2 epochs",
    "max_length": "paper: 2048 tokens",
    "rank": "released: 16",
    "alpha": "assumed: twice the rank, the default of LLaMA-Factory",
    "dropout": "assumed: none, the default of LLaMA-Factory",
    "targets": "released: all linear layers",
    "upper_layers": "released: every layer of the model",
    "schedule": "released: cosine",
    "warmup": "released: a tenth of the steps",
    "batch": "released: 8 a device, 8 times, on four devices: 256 samples a step",
    "at_once": "released: 8 a device; no result depends on it but by rounding",
    "seed": "assumed: the default of LLaMA-Factory",
    "gradient_checkpointing": "assumed: less memory for more work",
    "save_every": "assumed: about ten checkpoints a training",
    "mask_confidence": "as the paper: the number of the confidence is learnt like any other token",
    "loss": "as the paper: cross-entropy of the whole completion",
    "levels": "ours: ten levels of confidence, where the loss is on these alone",
}

LOSSES = ("text", "level-entropy", "tokenized-brier", "mean-brier")
"""What may be minimised: the completion's cross-entropy, or a score of the confidence alone."""


LATER = {"mask_confidence": False, "loss": "text", "levels": 10, "upper_layers": 0}
"""Settings that came later, with what a training was that does not know them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How a model is trained.

    `warmup` is the share of steps in which the learning rate rises; `at_once` is at most a step's
    samples; `save_every` 0 means about ten checkpoints in all. `mask_confidence` leaves the number
    of the stated confidence out of the loss: a warm-up then teaches the form of a reply, and
    nothing about how sure to be. Any `loss` but `text` is on the tokens of the confidence alone, of
    which there are `levels`. `upper_layers` adapts the last so many layers of the model alone, and
    0 all: what lies below needs no backward pass.
    """

    learning_rate: float = TRAIN.learning_rate
    epochs: float = TRAIN.epochs
    max_length: int = TRAIN.max_length
    rank: int = TRAIN.rank
    alpha: int | None = None
    dropout: float = 0.0
    targets: tuple[str, ...] = LINEAR
    upper_layers: int = TRAIN.upper_layers
    schedule: str = "cosine"
    warmup: float = TRAIN.warmup
    batch: int = TRAIN.batch
    at_once: int = TRAIN.at_once
    seed: int = TRAIN.seed
    gradient_checkpointing: bool = TRAIN.gradient_checkpointing
    save_every: int = TRAIN.save_every
    mask_confidence: bool = False
    loss: str = TRAIN.loss
    levels: int = TRAIN.levels

    def __post_init__(self) -> None:
        if self.alpha is None:
            object.__setattr__(self, "alpha", 2 * self.rank)
        positive = ("learning_rate", "epochs", "max_length", "rank", "alpha", "batch", "at_once")
        for name in positive:
            if not 0 < getattr(self, name) < inf:
                raise UsageError.saying("`{}` must be a number above 0", name)
        if not 0 <= self.warmup < 1:
            raise UsageError.saying("`warmup` is a share of the steps, from 0 to below 1")
        self._check_loss()
        if self.upper_layers < 0:
            raise UsageError.saying("`upper_layers` is a number of layers; 0 adapts all of them")
        if not self.targets:
            raise UsageError.saying("`targets` must name a layer")
        object.__setattr__(self, "at_once", min(self.at_once, self.batch))
        if self.batch % self.at_once:
            raise UsageError.saying(
                "a step of {} samples cannot be taken {} at a time; give `batch` and `at_once`"
                " such that the first is a multiple of the second",
                self.batch,
                self.at_once,
            )

    def _check_loss(self) -> None:
        if self.loss not in LOSSES:
            raise UnknownNameError(self.loss, LOSSES)
        ConfidenceLevels(self.levels)
        if self.mask_confidence and self.is_scored:
            raise UsageError.saying(
                "`mask_confidence` leaves out all that `loss={}` looks at; give one", self.loss
            )

    @property
    def is_scored(self) -> bool:
        """Say whether the loss is on the confidence alone."""
        return self.loss != TRAIN.loss

    def steps(self, samples: int) -> int:
        """Return how many steps a training on some samples takes."""
        return ceil(ceil(samples / self.batch) * self.epochs)

    def warmup_steps(self, samples: int) -> int:
        """Return in how many of its steps the learning rate rises."""
        return ceil(self.steps(samples) * self.warmup)

    def accumulation(self, devices: int) -> int:
        """Return how many times samples are taken on each device for one step."""
        rounds, left = divmod(self.batch, self.at_once * devices)
        if left or not rounds:
            raise UsageError.saying(
                "a step of {} samples cannot be shared by {} devices that take {} at a time;"
                " change `batch` or `at_once`",
                self.batch,
                devices,
                self.at_once,
            )
        return rounds


def labelled(settings: TrainingSettings) -> list[dict[str, Any]]:
    """List every setting with its value and where it is from; a changed one says so."""
    usual = TrainingSettings()
    rows = []
    for name in (field.name for field in fields(settings)):
        value, default = getattr(settings, name), getattr(usual, name)
        if name == "alpha":
            default = 2 * settings.rank
        said = SAID[name] if value == default else f"set: not the default ({shown(default)})"
        rows.append({"name": name, "value": _plain(value), "said": said})
    return rows


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
