"""An encoder on this machine, by sentence-transformers (extra `novarag[encoder]`).

The defaults are Contriever's: the mean over the tokens, compared by dot product, 256 tokens.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from importlib.util import find_spec
from logging import getLogger
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from novarag.errors import DataError, UsageError
from novarag.imports import with_extra
from novarag.retrieval.encoding import EncoderIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

MAX_TOKENS = 256  # of a text that are encoded; Contriever's own
_PACKAGE = "package:"
_DECISIVE = frozenset({".safetensors", ".json", ".txt", ".model"})
_PIECE = 1 << 20  # bytes held at a time


class LocalEncoder:
    """A sentence-transformers model; texts are encoded in a thread, one batch at a time."""

    def __init__(self, model: Any, identity: EncoderIdentity, *, batch: int) -> None:  # noqa: ANN401
        self._model, self._identity, self._batch = model, identity, batch
        self._lock = Lock()

    @property
    def identity(self) -> EncoderIdentity:
        """Which encoder this is."""
        return self._identity

    async def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return one row per text, in their order; a model's own prefix for questions is used."""
        if not texts:
            return np.empty((0, self._identity.dim), dtype=np.float32)
        return await asyncio.to_thread(self._encode, list(texts), query)

    def _encode(self, texts: list[str], query: bool) -> NDArray[np.float32]:
        work = self._model.encode_query if query else self._model.encode_document
        with self._lock:
            found = work(texts, batch_size=self._batch, show_progress_bar=False)
        vectors = np.ascontiguousarray(found, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise DataError(
                f"{self._identity.name} gave a vector that is not finite.",
                hint="its weights are damaged, or its numbers too small: take another.",
            )
        return vectors


def load_encoder(
    spec: str, *, max_tokens: int = MAX_TOKENS, device: str | None = None, batch: int = 32
) -> LocalEncoder:
    """Load a folder, a `package:NAME/FOLDER` of an installed package, or a model of the hub.

    Weights are safetensors, every part of a folder and the main part of a model of the hub; no code
    that comes with a model is run.
    """
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError:
        raise UsageError(
            f"to encode with {spec}: {with_extra('encoder')}, or name a server as URL=NAME"
        ) from None
    folder = find_folder(spec)
    if folder is not None:
        _refuse_pickles(folder)
    logging.disable_progress_bar()
    getLogger("huggingface_hub").setLevel("CRITICAL")  # we raise what it would print
    try:
        model = SentenceTransformer(
            str(folder or spec), device=device, trust_remote_code=False,
            model_kwargs={"use_safetensors": True, "dtype": "float32"},
        )  # fmt: skip
    except (OSError, ValueError, ImportError) as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(f"{spec} cannot be loaded as an encoder: {first[0]}") from error
    model.max_seq_length = min(model.max_seq_length or max_tokens, max_tokens)
    return LocalEncoder(model, _identify(model, spec, folder), batch=batch)


def find_folder(spec: str) -> Path | None:
    """Find the folder that a spec names on this machine; None where it names a model of the hub."""
    if spec.startswith(_PACKAGE):
        return _package_folder(spec)
    folder = Path(spec).expanduser()
    if folder.is_dir():
        return folder
    if spec.startswith((".", "/", "~")) or spec.count("/") > 1:
        raise UsageError(f"{spec} is not a folder; nor does a model of the hub have such a name")
    return None


def _package_folder(spec: str) -> Path:
    name, _, inner = spec.removeprefix(_PACKAGE).partition("/")
    try:
        found = find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        found = None
    homes = [] if found is None else found.submodule_search_locations or []
    for home in homes:
        folder = Path(home) / inner
        if folder.is_dir() and folder.resolve().is_relative_to(Path(home).resolve()):
            return folder
    raise UsageError(f"{spec}: no such folder in an installed package; write package:NAME/FOLDER")


def _refuse_pickles(folder: Path) -> None:
    """Refuse weights that could run code when they are read."""
    for place in _module_folders(folder):
        pickled = sorted(place.glob("*.bin"))
        if pickled and not any(place.glob("*.safetensors")):
            raise DataError(
                "the weights are pickled, which can run code.", source=str(pickled[0]),
                hint="save the model again as safetensors.",
            )  # fmt: skip


def _module_folders(folder: Path) -> list[Path]:
    """List the folders that a model is read from: its own, and that of each of its modules."""
    file = folder / "modules.json"
    if not file.is_file():
        return [folder]
    try:
        paths = [str(module["path"]) for module in orjson.loads(file.read_bytes())]
    except (orjson.JSONDecodeError, LookupError, TypeError):
        hint = "download the model again."
        raise DataError("this is no list of modules.", hint=hint, source=str(file)) from None
    return [place for path in sorted({"", *paths}) if (place := folder / path).is_dir()]


def hash_folder(folder: Path) -> str:
    """Hash the files that decide the vectors, so that two machines agree on what they have."""
    total = sha256()
    for place in _module_folders(folder):
        for file in sorted(place.iterdir()):
            if file.suffix in _DECISIVE and file.is_file():
                own = sha256()
                for piece in _pieces(file):
                    own.update(piece)
                total.update(f"{file.relative_to(folder).as_posix()} {own.hexdigest()}\n".encode())
    return total.hexdigest()


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE):
            yield piece


def _identify(model: Any, spec: str, folder: Path | None) -> EncoderIdentity:  # noqa: ANN401
    modules = {type(module).__name__: module for module in model}
    pooling = modules.get("Pooling")
    if folder is None:
        name = spec
        revision = getattr(model[0].auto_model.config, "_commit_hash", None) or "unknown"
    else:
        name = spec if spec.startswith(_PACKAGE) else folder.resolve().name
        revision = f"sha256:{hash_folder(folder)}"
    return EncoderIdentity(
        name=name,
        revision=revision,
        dim=int(model.get_embedding_dimension()),
        max_tokens=int(model.max_seq_length),
        pooling="unknown" if pooling is None else str(pooling.get_config_dict()["pooling_mode"]),
        normalised="Normalize" in modules,
    )
