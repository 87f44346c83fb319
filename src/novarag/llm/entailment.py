"""A model of entailment on this machine: a cross-encoder of sentence-transformers.

It comes with the extra `novarag[encoder]`. What it is used for stands elsewhere: what passages say
(`novarag retrieval annotate --nli`), and which answers mean the same
(`novarag.uncertainty.by_entailment`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.errors import UsageError
from novarag.imports import with_extra

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CLASSES = ("entail", "neutral", "contradict")


class Entailment:
    """A cross-encoder that is called with pairs of a premise and a hypothesis."""

    def __init__(self, model: Any, order: Sequence[int], *, batch: int = 32) -> None:  # noqa: ANN401
        self._model, self._order, self._batch = model, tuple(order), batch

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float, float]]:
        """Return the chances of entailment, neutral and contradiction for each pair."""
        if not pairs:
            return []
        found = self._model.predict(
            [list(pair) for pair in pairs], batch_size=self._batch, apply_softmax=True,
            show_progress_bar=False,
        )  # fmt: skip
        first, second, third = self._order
        return [(float(row[first]), float(row[second]), float(row[third])) for row in found]


def load_entailment(name: str, *, device: str | None = None) -> Entailment:
    """Load a folder or a model of the hub; only safetensors, and no code that comes with it."""
    try:
        from sentence_transformers import CrossEncoder
    except ImportError:
        raise UsageError(
            f"to weigh with {name}: {with_extra('encoder')}, or give package.module:OBJECT"
        ) from None
    try:
        model = CrossEncoder(
            name, device=device, trust_remote_code=False, model_kwargs={"use_safetensors": True}
        )
    except (OSError, ValueError, ImportError) as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(f"{name} cannot be loaded as a cross-encoder: {first[0]}") from error
    return Entailment(model, _order(name, model.config.id2label))


def _order(name: str, classes: Mapping[int, str]) -> list[int]:
    """Find the places of the three classes by their names, since models order them differently."""
    places = [
        [place for place, said in classes.items() if said.lower().startswith(word)]
        for word in _CLASSES
    ]
    if len(classes) != len(_CLASSES) or any(len(found) != 1 for found in places):
        said = ", ".join(map(str, classes.values()))
        raise UsageError(
            f"{name} tells {said} apart; a model of entailment tells entailment, neutral and"
            " contradiction"
        )
    return [found[0] for found in places]
