"""Trained models as their folders tell of them, and whether they can be served side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from novarag.atomic import resolved
from novarag.errors import UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values that vLLM's `--max-lora-rank` takes."""

_TOLD = "training.json"
_PICKLED = frozenset({".bin", ".pt", ".pth", ".pkl"})  # loading one may run what it likes
# What changes the meaning of an adapter and vLLM does not apply.
_UNSERVED = ("use_dora", "lora_bias", "modules_to_save", "layer_replication", "use_qalora")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedSample:
    """One prompt as the trainer saw it: in its chat template, and as tokens."""

    prompt: str
    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A folder that `train_model` wrote, and the name its model is served by."""

    name: str
    folder: Path
    base: str
    place: str
    fingerprint: str
    tokenizer: str
    sample: RenderedSample

    @property
    def adapter(self) -> Path:
        """The folder of the adapter."""
        return self.folder / "adapter"

    @property
    def merged(self) -> Path:
        """The folder of the merged weights, if there are any."""
        return self.folder / "merged"


def read_model(text: str) -> TrainedModel:
    """Read what a folder tells of its training; `NAME=FOLDER` names the model."""
    name, found, place = text.partition("=")
    if not found or Path(text).is_dir():
        name, place = "", text
    folder = resolved(Path(place))
    path = folder / _TOLD
    try:
        facts = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError.saying(
            "{!r} holds no {}; name a folder that `train_model(...)` wrote to the end", place, _TOLD
        ) from None
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{path} is not JSON ({error}); train again") from None
    try:
        return _model(_checked(name or folder.name), folder, facts)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError.saying(
            "{} lacks what serving needs ({}); was it written by `train_model(...)`?",
            path,
            plain_text(str(error)),
        ) from None


def _checked(name: str) -> str:
    if not name.isprintable() or any(c.isspace() or c in "=," for c in name):
        raise UsageError(
            f"{plain_text(name)!r} cannot be the name of a model; give another as NAME=FOLDER,"
            " without spaces, commas or ="
        )
    return name


def _model(name: str, folder: Path, facts: Any) -> TrainedModel:  # noqa: ANN401 - JSON
    sample = facts["sample"]
    return TrainedModel(
        name=name,
        folder=folder,
        base=_text(facts["base"], "name"),
        place=_text(facts["base"], "place"),
        fingerprint=_text(facts["base"], "fingerprint"),
        tokenizer=_text(facts, "tokenizer_sha256"),
        sample=RenderedSample(
            prompt=_text(sample, "prompt"),
            text=_text(sample, "text"),
            tokens=tuple(_whole(token) for token in sample["tokens"]),
        ),
    )


def _text(facts: Any, name: str) -> str:  # noqa: ANN401 - JSON
    if not isinstance(facts[name], str):
        raise TypeError(f"{name} is no text")
    return str(facts[name])


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("a token is no number")
    return value


def check_together(models: Sequence[TrainedModel], base: str) -> None:
    """Refuse models that one server cannot serve: of different bases, or of the same name."""
    first = models[0]
    for model in models[1:]:
        if model.fingerprint != first.fingerprint:
            raise UsageError(
                f"{first.name} was trained on {first.base}, {model.name} on {model.base} with other"
                " weights; serve them from two servers"
            )
        if model.tokenizer != first.tokenizer:
            raise UsageError(
                f"{first.name} and {model.name} were trained with different tokenizers or chat"
                " templates; serve them from two servers"
            )
    names = [base, *(model.name for model in models)]
    for name in names:
        if names.count(name) > 1:
            raise UsageError.saying(
                "two models are named {!r}; name one with NAME=FOLDER, or the base with"
                " `base_name`",
                name,
            )


def check_weights(folder: Path, hint: str) -> None:
    """Refuse a folder without safetensors, or with weights that are pickled."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in files:
        if path.suffix in _PICKLED:
            raise UsageError(
                f"{path} is a pickle, which may run code when it is loaded; only safetensors are"
                " served: remove it, or save the weights as safetensors"
            )
    if not any(path.suffix == ".safetensors" for path in files):
        raise UsageError.saying("{} holds no weights as safetensors; {}", folder, hint)


def served_rank(models: Sequence[TrainedModel]) -> int:
    """Return the least rank vLLM can be told that holds every adapter."""
    ranks = {model.name: _rank(model) for model in models}
    widest, most = max(ranks.items(), key=lambda pair: pair[1])
    for rank in RANKS:
        if rank >= most:
            return rank
    raise UsageError.saying(
        "the adapter of {} has rank {}, and vLLM serves none above {}; serve the merged weights"
        " with `merged=True`",
        widest,
        most,
        RANKS[-1],
    )


def _rank(model: TrainedModel) -> int:
    """Read the rank of an adapter, and refuse what vLLM would leave out or not load."""
    path = model.adapter / "adapter_config.json"
    try:
        facts = orjson.loads(path.read_bytes())
        rank = max(map(_whole, [facts["r"], *(facts.get("rank_pattern") or {}).values()]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} tells no rank ({plain_text(str(error))}); train again") from None
    strange = [name for name in _UNSERVED if facts.get(name)]
    if facts.get("bias", "none") != "none":
        strange.append("bias")
    if strange:
        raise UsageError.saying(
            "the adapter of {} uses {}, which vLLM does not apply; serve the merged weights with"
            " `merged=True`",
            model.name,
            strange[0],
        )
    return rank
