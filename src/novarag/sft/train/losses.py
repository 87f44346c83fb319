"""Losses on the confidence alone: proper scores of the levels' probabilities.

`tokenized-brier` is that of ConfTuner (Li et al., 2025, arXiv:2508.18847): the Brier score that is
expected over the levels. `mean-brier` is the Brier score of the expected level, `level-entropy` the
cross-entropy of the level nearest to the target. These look at probabilities among the levels'
tokens alone, so the form is learnt beside them: that a level stands there, and what ends the reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import cross_entropy, log_softmax
from trl import SFTTrainer

from novarag.errors import UsageError
from novarag.sft.levels import ConfidenceLevels
from novarag.sft.train.scored import NOT_GRADED, level_tokens, number_place, target_of
from novarag.sft.train.shared import BlockSampler, logits_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from datasets import Dataset
    from torch import Tensor

    from novarag.sft.examples import TrainingExample
    from novarag.sft.train.scored import LevelTokens, NumberPlace
    from novarag.sft.train.training import TrainingJob

    RankingLoss = Callable[[Tensor, Tensor, Tensor], Tensor]

IGNORED = -100
"""The label of a token that is no part of the loss, as torch has it."""

_COLUMNS = ("target", "level")


def level_entropy(logits: Tensor, _: Tensor, level: Tensor) -> Tensor:
    """Return the cross-entropy of each row's level; `logits` are those of the levels' tokens."""
    return cross_entropy(logits, level, reduction="none")


def tokenized_brier(logits: Tensor, distance: Tensor, _: Tensor) -> Tensor:
    """Return the expected square of the distance from a level to the target."""
    chance = log_softmax(logits, dim=-1).exp()
    return (chance * distance**2).sum(-1)


def mean_brier(logits: Tensor, distance: Tensor, _: Tensor) -> Tensor:
    """Return the square of the expected distance from a level to the target.

    Where one level has all of the probability, its gradient is nought: half a level may remain.
    """
    chance = log_softmax(logits, dim=-1).exp()
    return (chance * distance).sum(-1) ** 2


SCORES: dict[str, RankingLoss] = {
    "level-entropy": level_entropy,
    "tokenized-brier": tokenized_brier,
    "mean-brier": mean_brier,
}
"""Every loss on levels by name: from logits, distances to the target, and its nearest level."""


class LevelCollator:
    """Adds each sample's target and level to what the trainer makes of a batch."""

    def __init__(self, inner: Callable[[list[dict[str, Any]]], dict[str, Any]]) -> None:
        self._inner = inner

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Lay rows out as a batch."""
        more = {name: torch.tensor([row[name] for row in rows]) for name in _COLUMNS}
        return {**self._inner(rows), **more}


class LevelLoss:
    """The loss of a batch: a score of each level's probability, and the form of the reply's end.

    The form is the mean cross-entropy of "one of the levels stands here" and of the tokens after
    it. Without it a model that learns levels may go on with digits, or write none.
    """

    def __init__(
        self, name: str, levels: ConfidenceLevels, known: LevelTokens, *, shares: bool = False
    ) -> None:
        self._score, self._known, self.shares = SCORES[name], known, shares
        self._values = torch.tensor(levels.values)

    def of_samples(self, model: Any, inputs: dict[str, Tensor]) -> Tensor:  # noqa: ANN401
        """Return the loss of each sample."""
        labels, ended = inputs["labels"], len(self._known.rest)
        first = (labels != IGNORED).int().argmax(-1)
        at = first[:, None] - 1 + torch.arange(1 + ended, device=labels.device)
        kept, back = at.unique(return_inverse=True)
        logits = logits_at(
            model, inputs["input_ids"], inputs["attention_mask"], kept, share=self.shares
        ).float()
        own = logits[torch.arange(len(labels), device=labels.device)[:, None], back]
        scored = self._scored(own[:, 0], inputs["target"], inputs["level"])
        said = labels.gather(1, at[:, 1:] + 1)
        rest = cross_entropy(own[:, 1:].flatten(0, 1), said.flatten(), reduction="none")
        form = torch.cat([self._unsaid(own[:, 0])[:, None], rest.view(said.shape)], dim=1)
        return scored + form.mean(-1)

    def _unsaid(self, logits: Tensor) -> Tensor:
        """Return the negative logarithm of the probability that a level stands here."""
        return logits.logsumexp(-1) - self._among(logits).logsumexp(-1)

    def _among(self, logits: Tensor) -> Tensor:
        return logits[:, torch.tensor(self._known.tokens, device=logits.device)]

    def _scored(self, logits: Tensor, target: Tensor, level: Tensor) -> Tensor:
        values = self._values.to(logits.device)
        return self._score(self._among(logits), values - target[:, None].to(values.dtype), level)


class LevelTrainer(SFTTrainer):  # type: ignore[misc]  # a library without types
    """Minimises the mean of a loss on levels over the samples of a step."""

    level_loss: LevelLoss | None = None
    prompts: Sequence[str] = ()
    _signature_columns: list[str] | None

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        if self.level_loss is not None:
            known = self._signature_columns or []
            self._signature_columns = list(dict.fromkeys([*known, *_COLUMNS]))

    def _get_train_sampler(self, *given: Any) -> Any:  # noqa: ANN401
        if self.level_loss is None:
            return super()._get_train_sampler(*given)
        return BlockSampler(
            self.prompts, self.args.per_device_train_batch_size, self.args.data_seed
        )

    def compute_loss(
        self,
        model: Any,  # noqa: ANN401
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Return the loss of a batch; the trainer's own where none on levels is set."""
        if self.level_loss is None:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        each = self.level_loss.of_samples(model, inputs)
        self._count_tokens(inputs)
        if num_items_in_batch is None:
            return each.mean()
        held = (inputs["labels"] != IGNORED).sum(-1)  # what the trainer counts, for each sample
        loss = (each * held).sum() / num_items_in_batch
        shared = self.args.average_tokens_across_devices
        return loss * self.accelerator.num_processes if shared else loss

    def _count_tokens(self, inputs: dict[str, Any]) -> None:
        """Count as the trainer's own loss does."""
        mode = "train" if self.model.training else "eval"
        if mode == "train":
            seen = self.accelerator.gather_for_metrics(inputs["attention_mask"].sum())
            self._total_train_tokens += seen.sum().item()
        self._metrics[mode]["num_tokens"] = [self._total_train_tokens]


def set_level_loss(trainer: LevelTrainer, job: TrainingJob) -> None:
    """Make a trainer minimise the loss on levels that the settings of a job name."""
    levels = ConfidenceLevels(job.settings.levels)
    known = level_tokens(job.splits["train"][0], job.ruler, levels)
    alone = trainer.accelerator.num_processes == 1 and not job.settings.gradient_checkpointing
    trainer.level_loss = LevelLoss(job.settings.loss, levels, known, shares=alone)
    trainer.prompts = [example.prompt for example in job.splits["train"]]
    trainer.data_collator = LevelCollator(trainer.data_collator)

    def scored(labels: list[int], place: NumberPlace, example: TrainingExample) -> dict[str, Any]:
        target = target_of(example)
        if target is None:
            raise UsageError(NOT_GRADED)
        kept = [IGNORED] * len(labels)
        kept[place.first : place.end] = place.ended
        return {"labels": kept, "target": target, "level": levels.nearest(target)}

    _relabel(trainer, job, scored)


def mask_numbers(trainer: SFTTrainer, job: TrainingJob) -> None:
    """Leave the tokens of the stated number out of the loss, in what is learnt and watched."""

    def masked(labels: list[int], place: NumberPlace, _: TrainingExample) -> dict[str, Any]:
        labels[place.first : place.last] = [IGNORED] * (place.last - place.first)
        return {"labels": labels}

    _relabel(trainer, job, masked)


def _relabel(
    trainer: SFTTrainer,
    job: TrainingJob,
    change: Callable[[list[int], NumberPlace, TrainingExample], dict[str, Any]],
) -> None:
    """Change the labels of all samples by where their numbers stand."""

    def relabelled(rows: Dataset, split: str) -> Dataset:
        examples = job.splits[split]

        def changed(row: dict[str, Any], index: int) -> dict[str, Any]:
            place = number_place(job.ruler, examples[index])
            if place is None or list(place.tokens) != row["input_ids"]:
                raise UsageError(
                    "the trainer makes other tokens of a sample than its tokenizer does"
                )
            return change(list(row["labels"]), place, examples[index])

        return rows.map(changed, with_indices=True)

    trainer.train_dataset = relabelled(trainer.train_dataset, "train")
    if trainer.eval_dataset is not None:
        trainer.eval_dataset = relabelled(trainer.eval_dataset, "dev")
