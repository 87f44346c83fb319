"""Samples of one prompt taken together: the prompt is computed once, each completion after it.

A loss on the confidence alone learns from many replies to the same prompt, whose hundreds of tokens
are the same each time. Rows that are taken at once are of one prompt where that goes, and the model
sees what they share once. No result depends on it but by rounding and by the order of samples.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch.utils.data import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

T = TypeVar("T")
_LEAST = 32  # tokens in common that are worth a call of their own


class BlockSampler(Sampler[int]):  # type: ignore[misc]  # a library without types
    """Shuffles blocks of `size` samples, most of them of one prompt; other blocks each epoch."""

    def __init__(self, prompts: Sequence[str], size: int, seed: int) -> None:
        self._size, self._seed, self._epoch = size, seed, 0
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, prompt in enumerate(prompts):
            self._places[prompt].append(place)
        self._count = len(prompts)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch is next: its order depends on that and on the seed alone."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        chance = torch.Generator().manual_seed(self._seed + self._epoch)
        whole: list[list[int]] = []
        left: list[int] = []
        for places in self._places.values():
            *full, rest = self._cut(_mixed(places, chance))
            whole += full
            left += rest
        *full, last = self._cut(_mixed(left, chance))
        return chain(chain.from_iterable(_mixed([*whole, *full], chance)), last)

    def _cut(self, places: list[int]) -> list[list[int]]:
        """Cut places into full blocks, and the rest, which may be empty."""
        return [places[i : i + self._size] for i in range(0, len(places) + 1, self._size)]


def _mixed(row: Sequence[T], chance: torch.Generator) -> list[T]:
    return [row[i] for i in torch.randperm(len(row), generator=chance)]


def in_common(tokens: Tensor) -> int:
    """Return how many tokens the rows of a batch have in common from their beginning."""
    differ = (tokens != tokens[:1]).any(0)
    return int(differ.int().argmax()) if bool(differ.any()) else tokens.shape[1]


def logits_at(model: Any, tokens: Tensor, mask: Tensor, kept: Tensor, *, share: bool) -> Tensor:  # noqa: ANN401
    """Return the logits of all rows at some places; with `share`, what rows share is seen once."""
    end = int(kept.max()) + 1
    tokens, mask = tokens[:, :end], mask[:, :end]
    begin = min(in_common(tokens), int(kept.min())) if share and len(tokens) > 1 else 0
    if begin < _LEAST:
        logits: Tensor = model(
            input_ids=tokens, attention_mask=mask, use_cache=False, logits_to_keep=kept
        ).logits
        return logits
    seen = model(
        input_ids=tokens[:1, :begin], attention_mask=mask[:1, :begin], use_cache=True,
        logits_to_keep=1,
    ).past_key_values  # fmt: skip
    seen.batch_repeat_interleave(len(tokens))
    after: Tensor = model(
        input_ids=tokens[:, begin:], attention_mask=mask, past_key_values=seen, use_cache=True,
        logits_to_keep=kept - begin,
    ).logits  # fmt: skip
    return after
