"""The model that is trained: where it is, and a fingerprint to know it by."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path

import orjson

from novarag.errors import UsageError
from novarag.imports import with_extra

_DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseWeights:
    """A model by its name, the place it is loaded from, and its fingerprint."""

    name: str
    place: str
    fingerprint: str
    dtype: str


def find_base(model: str) -> BaseWeights:
    """Find a model in a folder, or by its name in the cache of the hub, fetching it if need be."""
    folder = Path(model) if Path(model).is_dir() else _from_hub(model)
    config = folder / "config.json"
    weights = sorted(folder.glob("*.safetensors"))
    if not config.is_file() or not weights:
        raise UsageError(
            f"{model!r} holds no config.json with weights as safetensors; name the folder of a"
            " model, or its name on the hub"
        )
    return BaseWeights(
        name=Path(model).resolve().name if Path(model).is_dir() else model,
        place=str(Path(model).resolve()) if Path(model).is_dir() else model,
        fingerprint=_fingerprint(config, weights),
        dtype=_dtype(model, config.read_bytes()),
    )


def _dtype(model: str, config: bytes) -> str:
    """Return the numbers that the weights are saved as."""
    try:
        settings = orjson.loads(config)
        said = str(settings.get("dtype") or settings.get("torch_dtype"))
    except (orjson.JSONDecodeError, AttributeError):
        raise UsageError(f"the config.json of {model!r} is damaged") from None
    return said if said in _DTYPES else "float32"


def _fingerprint(config: Path, weights: list[Path]) -> str:
    """Hash the configuration and all weights.

    All of them: a model with an adapter worked in has the names, the shapes and the embeddings of
    the model it was made from.
    """
    hashed = sha256(config.read_bytes())
    for path in weights:
        with path.open("rb") as file:
            hashed.update(f"\x1f{path.name}\x1f{file_digest(file, 'sha256').hexdigest()}".encode())
    return hashed.hexdigest()


def _from_hub(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError:
        raise UsageError(f"training needs: {with_extra('train')}") from None
    try:
        return Path(
            snapshot_download(
                name, allow_patterns=["*.json", "*.safetensors", "*.jinja", "*.model"]
            )
        )
    except (OSError, ValueError, HFValidationError, HfHubHTTPError) as error:
        raise UsageError(
            f"{name!r} is no folder, and no model of the hub that can be had"
        ) from error
