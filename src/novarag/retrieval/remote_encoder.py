"""An encoder behind a server: `/v1/embeddings` as OpenAI and vLLM speak it, or TEI's `/embed`.

A reply is checked before it is believed: as many vectors as texts, each in its place, all of one
length, every number finite.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from novarag.calls import CallError, Outcome
from novarag.errors import UsageError
from novarag.retrieval.encoding import EncoderIdentity
from novarag.texts import replace_halves
from novarag.web.endpoint import Endpoint, parse_endpoint
from novarag.web.sending import Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from novarag.web.sending import Patience

_PROBES = ("The lighthouse was lit in 1871.", "Who keeps the light?")
_NOT_AS_PROMISED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderDialect:
    """How one kind of server is spoken to: where, in what batches, with what words."""

    path: str
    batch: int
    write: Callable[[str, Sequence[str]], dict[str, object]]
    read: Callable[[Any], list[Any]]
    root: str = ""


def _openai_body(
    model: str, texts: Sequence[str], *, longest: int | None = None
) -> dict[str, object]:
    body: dict[str, object] = {"model": model, "input": list(texts), "encoding_format": "float"}
    return body if longest is None else body | {"truncate_prompt_tokens": longest}


def _openai_rows(content: Any) -> list[Any]:  # noqa: ANN401 - foreign; what it is not raises
    rows = {int(row["index"]): row["embedding"] for row in content["data"]}
    if len(rows) != len(content["data"]):
        raise ValueError
    return [rows[place] for place in range(len(rows))]


def _tei_body(_model: str, texts: Sequence[str], *, normalise: bool) -> dict[str, object]:
    return {"inputs": list(texts), "truncate": True, "normalize": normalise}


def _tei_rows(content: Any) -> list[Any]:  # noqa: ANN401 - foreign; its rows are checked next
    return list(content)


_TEI = partial(
    EncoderDialect, path="/embed", batch=32, read=_tei_rows
)  # 32: what a TEI server takes
DIALECTS = {
    "tei": _TEI(write=partial(_tei_body, normalise=True)),
    "tei-raw": _TEI(write=partial(_tei_body, normalise=False)),
    "openai": EncoderDialect(
        path="/embeddings", batch=64, write=_openai_body, read=_openai_rows, root="/v1"
    ),
}
"""The servers we can talk to; `tei-raw` leaves the length of vectors as it is."""


def is_address(spec: str) -> bool:
    """Say whether a spec names a server: `URL=NAME`, `tei+URL=NAME` or `tei-raw+URL=NAME`."""
    return "://" in spec.partition("=")[0]


def parse_encoder(spec: str, *, key_env: str | None = None) -> tuple[str, Endpoint]:
    """Read `URL=NAME`, `tei+URL=NAME` or `tei-raw+URL=NAME`: the dialect's name, and where."""
    kind, found, address = spec.partition("+")
    if not found or "://" in kind:
        kind, address = "openai", spec
    if kind not in DIALECTS:
        raise UsageError(f"{spec} begins with {kind}+; known are tei+ and tei-raw+")
    return kind, parse_endpoint(address, key_env=key_env, url_path=DIALECTS[kind].root)


class RemoteEncoder:
    """A served encoder; texts go out in batches, as many at a time as the server bears.

    Texts are sent as they are: what prefix a model wants for questions is for its server to know.
    """

    def __init__(self, sender: Sender, dialect: EncoderDialect, identity: EncoderIdentity) -> None:
        self._sender, self._dialect, self._identity = sender, dialect, identity

    @property
    def identity(self) -> EncoderIdentity:
        """Which encoder this is, as far as its server says."""
        return self._identity

    async def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:  # noqa: ARG002
        """Return one row per text, in their order."""
        if not texts:
            return np.empty((0, self._identity.dim), dtype=np.float32)
        size = self._dialect.batch
        batches = [texts[i : i + size] for i in range(0, len(texts), size)]
        try:
            async with self._sender, asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._batch(batch)) for batch in batches]
        except ExceptionGroup as failed:  # the first stops the others
            raise failed.exceptions[0] from None
        return np.concatenate([task.result() for task in tasks])

    async def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        name, dim = self._identity.name, self._identity.dim
        return await _post(self._sender, self._dialect, name, texts, dim=dim)


async def connect_encoder(
    spec: str, *, key_env: str | None = None, patience: Patience | None = None
) -> RemoteEncoder:
    """Meet a served encoder: `URL=NAME`, `tei+URL=NAME` or `tei-raw+URL=NAME`.

    Two short texts are encoded to learn how long its vectors are, and whether their length is one.
    """
    kind, endpoint = parse_encoder(spec, key_env=key_env)
    dialect = DIALECTS[kind]
    sender = Sender([endpoint], dialect.path, patience=patience)
    async with sender:  # what it says first: that is asked once, so a wrong address shows at once
        said = await _introduce(sender, endpoint, "/models" if kind == "openai" else "/info")
        if kind == "openai" and said.get("max_tokens"):
            # Only vLLM says how much a model takes, and vLLM refuses more unless told to cut it.
            cut = partial(_openai_body, longest=said["max_tokens"])
            dialect = replace(dialect, write=cut)
        try:
            probed = await _post(sender, dialect, endpoint.model, _PROBES)
        except CallError as error:
            where = f"{endpoint.url}{dialect.path}: does it serve an encoder?"
            raise CallError(error.outcome, f"{error.detail} ({where})") from None
    identity = EncoderIdentity(
        name=endpoint.model,
        revision=said.get("revision") or "unknown",
        dim=probed.shape[1],
        max_tokens=said.get("max_tokens"),
        pooling=said.get("pooling") or "unknown",
        normalised=bool(np.allclose(np.linalg.norm(probed, axis=1), 1.0, atol=1e-3)),
    )
    return RemoteEncoder(sender, dialect, identity)


async def _post(
    sender: Sender,
    dialect: EncoderDialect,
    model: str,
    texts: Sequence[str],
    *,
    dim: int | None = None,
) -> NDArray[np.float32]:
    body = orjson.dumps(dialect.write(model, [replace_halves(text) for text in texts]))
    read = partial(_read, rows=dialect.read, count=len(texts), dim=dim)
    vectors, _ = await sender.post(body, read)
    return vectors


def _read(
    content: bytes, *, rows: Callable[[Any], list[Any]], count: int, dim: int | None
) -> NDArray[np.float32]:
    try:
        found = rows(orjson.loads(content))
        if len(found) != count:
            what = f"asked for {count} vectors, got {len(found)}"
            raise CallError(Outcome.INCOMPLETE, what)
        raw = np.array(found)
    except _NOT_AS_PROMISED as error:
        what = f"the body is no list of vectors ({type(error).__name__})"
        raise CallError(Outcome.MALFORMED, what) from None
    if raw.ndim != 2 or not raw.size or raw.dtype.kind not in "fiu":
        raise CallError(Outcome.MALFORMED, "the vectors are not rows of numbers")
    with np.errstate(over="ignore"):
        vectors = raw.astype(np.float32)
    if not np.isfinite(vectors).all():
        raise CallError(Outcome.MALFORMED, "the vectors are not finite")
    if dim is not None and vectors.shape[1] != dim:
        what = f"the vectors had {dim} numbers before, and have {vectors.shape[1]} now"
        raise CallError(Outcome.INCOMPLETE, what)
    return vectors


async def _introduce(sender: Sender, endpoint: Endpoint, path: str) -> dict[str, Any]:
    """Ask a server what it says of its model; it need not say anything."""
    status, content = await sender.get(endpoint, path)
    try:
        said = sender.secrets.redact_tree(orjson.loads(content)) if status == 200 else {}
    except (orjson.JSONDecodeError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    return _of_models(said, endpoint.model) if path == "/models" else _of_info(said)


def _of_models(said: dict[str, Any], model: str) -> dict[str, Any]:
    data = said.get("data")
    own = [m for m in data if isinstance(m, dict)] if isinstance(data, list) else []
    found: dict[str, Any] = next((m for m in own if m.get("id") == model), {})
    return {"max_tokens": _number(found.get("max_model_len"))}


def _of_info(said: dict[str, Any]) -> dict[str, Any]:
    kind = said.get("model_type")
    kind = kind.get("embedding") if isinstance(kind, dict) else None
    pooling = kind.get("pooling") if isinstance(kind, dict) else None
    revision = said.get("model_sha")
    return {
        "revision": revision if isinstance(revision, str) else None,
        "max_tokens": _number(said.get("max_input_length")),
        "pooling": pooling if isinstance(pooling, str) else None,
    }


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and 0 < value < 2**31 else None
