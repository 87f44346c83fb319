"""An index in Milvus: a file on a laptop or a cluster, by the same calls; the URI decides.

One collection holds each passage once, its words for BM25 and, with an encoder, its vector. The
primary key is a hash of the passage's id, because ids are foreign text and keys become part of
expressions. An index only grows: the same id with another text is refused, since BM25's statistics
would keep the old text's words.
"""

from __future__ import annotations

import logging
import re
import warnings
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from novarag.defaults import RETRIEVE
from novarag.errors import DataError, NovaragError, ServiceError, StorageError, UsageError
from novarag.imports import with_extra
from novarag.prose import say
from novarag.records import Passage
from novarag.retrieval.chunks import other_name
from novarag.retrieval.fusion import fuse
from novarag.retrieval.lite import check_file, is_file, wait_for_orphans
from novarag.retrieval.manifest import ANALYZERS, differences, read_manifest, write_manifest
from novarag.taxonomy import Provenance
from novarag.web.endpoint import parse_address

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pymilvus import MilvusClient

    from novarag.retrieval.manifest import IndexManifest

COLLECTION = "passages"
_LONGEST = 65_535  # bytes of a text that Milvus takes
_DEPTH = 50  # ranks of each search that are fused: more found no more, and cost
_AT_ONCE = 128  # queries in one call
_WAIT = 600.0  # seconds that one search may take
# What Milvus takes for the name of a collection: 255 characters, no digit first.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
# The engine of a file hangs up on a client that pings it while nothing is asked, as in a long batch
# of encoding; and a process on this machine needs no ping.
_QUIET = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}


class MilvusIndex:
    """A collection that is open. Its calls block: they are for a thread."""

    def __init__(self, client: MilvusClient, name: str, uri: str, manifest: IndexManifest) -> None:
        self._client, self.name, self.uri, self.manifest = client, name, uri, manifest

    def __enter__(self) -> MilvusIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the collection, and of the file if it is one."""
        _release(self._client, self.uri)

    def count(self) -> int:
        """Count the passages."""
        with _named_errors(self.uri):
            found = self._client.query(
                self.name, filter="", output_fields=["count(*)"], consistency_level="Strong"
            )
        return int(found[0]["count(*)"])

    def missing(self, passages: Sequence[Passage]) -> list[Passage]:
        """Return those that are not in the index yet, each once."""
        wanted: dict[str, Passage] = {}
        for passage in passages:
            _check_size(passage)
            if wanted.setdefault(_key(passage), passage).text != passage.text:
                raise _other_text(passage, self.uri)
        cut_otherwise = self._cut_otherwise(wanted.values())
        with _named_errors(self.uri):
            rows = self._client.query(
                self.name, ids=[*wanted, *cut_otherwise], output_fields=["key", "text"],
                consistency_level="Strong", timeout=_WAIT,
            )  # fmt: skip
        for row in rows:
            if row["key"] in cut_otherwise:
                raise _other_text(cut_otherwise[row["key"]], self.uri)
            passage = wanted.pop(row["key"])
            if passage.text != row["text"]:
                raise _other_text(passage, self.uri)
        return list(wanted.values())

    def _cut_otherwise(self, passages: Iterable[Passage]) -> dict[str, Passage]:
        """Key the passages by what they were called had their documents been longer or shorter.

        A document that grew from one passage to several has other ids, and would stand there twice.
        """
        if not self.manifest.words:
            return {}
        return {_hash(other): p for p in passages if (other := other_name(_source(p))) is not None}

    def add(self, passages: Sequence[Passage], vectors: NDArray[np.float32] | None = None) -> None:
        """Add passages that are missing, with their vectors where the index has an encoder."""
        if (vectors is None) != (self.manifest.encoder is None):
            raise UsageError("passages need vectors if and only if the index has an encoder")
        rows: list[dict[str, Any]] = [_row(passage) for passage in passages]
        if vectors is not None:
            for row, vector in zip(rows, vectors, strict=True):
                row["dense"] = vector
        if rows:
            with _named_errors(self.uri):  # once: an insert that is repeated may be there twice
                self._client.insert(self.name, rows, retry_times=0)

    def settle(self) -> None:
        """Have the engine write what it holds; a server then builds its search structures."""
        with _named_errors(self.uri):
            self._client.flush(self.name)

    def by_words(self, queries: Sequence[str], *, k: int) -> list[list[Passage]]:
        """Find passages by BM25."""
        return self._search(list(queries), _BM25, k)

    def by_vectors(self, vectors: NDArray[np.float32], *, k: int) -> list[list[Passage]]:
        """Find passages by the dot product of vectors."""
        return self._search(list(vectors), self._dense(k), k)

    def by_both(
        self, queries: Sequence[str], vectors: NDArray[np.float32], *, k: int
    ) -> list[list[Passage]]:
        """Find passages by words and by vectors, and fuse the two by reciprocal rank.

        The fusion is ours: the engine of a file counts ranks through all queries of a call, so
        that only the first is fused right.
        """
        found: list[list[Passage]] = []
        deep = max(_DEPTH, k)
        for start in range(0, len(queries), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            words = self._keys(list(queries[part]), _BM25, deep)
            near = self._keys(list(vectors[part]), self._dense(deep), deep)
            best = [fuse(pair)[:k] for pair in zip(words, near, strict=True)]
            passages = self._read({key for keys in best for key in keys})
            found += [[passages[key] for key in keys] for keys in best]
        return found

    def _keys(self, data: list[Any], how: dict[str, Any], k: int) -> list[list[str]]:
        with _named_errors(self.uri):
            hits = self._client.search(
                self.name, data, limit=k, **how, consistency_level="Strong", timeout=_WAIT
            )
        return [some.ids for some in hits]

    def _read(self, keys: Collection[str]) -> dict[str, Passage]:
        if not keys:
            return {}
        with _named_errors(self.uri):
            rows = self._client.query(
                self.name, ids=sorted(keys), output_fields=["key", "source", "text"],
                consistency_level="Strong", timeout=_WAIT,
            )  # fmt: skip
        return {row["key"]: _passage(row) for row in rows}

    def _dense(self, k: int) -> dict[str, Any]:
        deep = {} if self.manifest.vectors == "exact" else {"ef": max(RETRIEVE.candidates, k)}
        return {"anns_field": "dense", "search_params": {"metric_type": "IP", "params": deep}}

    def _search(self, data: list[Any], how: dict[str, Any], k: int) -> list[list[Passage]]:
        found: list[list[Passage]] = []
        for start in range(0, len(data), _AT_ONCE):
            with _named_errors(self.uri):
                hits = self._client.search(
                    self.name, data[start : start + _AT_ONCE], limit=k, **how,
                    output_fields=["source", "text"], consistency_level="Strong", timeout=_WAIT,
                )  # fmt: skip
            found += [[_passage(hit["entity"]) for hit in some] for some in hits]
        return found


_BM25 = {"anns_field": "sparse", "search_params": {"metric_type": "BM25", "params": {}}}


def open_index(uri: str, *, name: str = COLLECTION, token: str | None = None) -> MilvusIndex:
    """Open a collection that is there."""
    _check_name(name)
    client = _connect(uri, token, must_exist=True)
    with _released_on_error(client, uri), _named_errors(uri):
        if not client.has_collection(name):
            there = ", ".join(client.list_collections()) or "none"
            raise UsageError(f"{uri} has no collection {name!r} (it has: {there})")
        described = client.describe_collection(name)
        manifest = read_manifest(described["description"], source=f"{uri}, {name}")
        client.load_collection(name)
    return MilvusIndex(client, name, uri, manifest)


def create_index(
    uri: str, manifest: IndexManifest, *, name: str = COLLECTION, token: str | None = None
) -> MilvusIndex:
    """Open a collection made with this manifest, or make it; another manifest is refused."""
    _check_name(name)
    if is_file(uri) and manifest.vectors != "exact":
        raise UsageError.saying(
            "in a file every vector is compared: `vectors='graph'` needs a server"
        )
    client = _connect(uri, token, must_exist=False)
    with _released_on_error(client, uri), _named_errors(uri):
        if client.has_collection(name) and _is_half_made(client, name):
            client.drop_collection(name)
        if not client.has_collection(name):
            _create(client, name, manifest)
            return MilvusIndex(client, name, uri, manifest)
    _release(client, uri)
    index = open_index(uri, name=name, token=token)
    other = differences(index.manifest, manifest)
    if other and not index.count():  # nothing is lost: a build that never began
        index._client.drop_collection(name)
        _create(index._client, name, manifest)
        return MilvusIndex(index._client, name, uri, manifest)
    if other:
        index.close()
        raise UsageError.saying(
            "{} was made with other settings ({}): give the same, or name another file or"
            " `collection`",
            uri,
            "; ".join(other),
        )
    return index


def _is_half_made(client: MilvusClient, name: str) -> bool:
    """Say whether a kill came between a collection of ours and its indexes; it is empty then."""
    described = client.describe_collection(name)
    manifest = read_manifest(described["description"], source=name)
    needed = {"sparse"} if manifest.encoder is None else {"sparse", "dense"}
    return not needed.issubset(client.list_indexes(name))


def _create(client: MilvusClient, name: str, manifest: IndexManifest) -> None:
    from pymilvus import DataType, Function, FunctionType

    schema = client.create_schema(auto_id=False, description=write_manifest(manifest))
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=32)
    schema.add_field("source", DataType.VARCHAR, max_length=_LONGEST)
    schema.add_field(
        "text", DataType.VARCHAR, max_length=_LONGEST, enable_analyzer=True,
        analyzer_params=ANALYZERS[manifest.analyzer],
    )  # fmt: skip
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(Function("bm25", FunctionType.BM25, ["text"], ["sparse"]))
    indexes = client.prepare_index_params()
    indexes.add_index(
        "sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25",
        params={"bm25_k1": manifest.k1, "bm25_b": manifest.b},
    )  # fmt: skip
    if manifest.encoder is not None:
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=manifest.encoder.dim)
        exact = manifest.vectors == "exact"
        indexes.add_index(
            "dense", index_type="FLAT" if exact else "HNSW", metric_type="IP",
            params={} if exact else {"M": 16, "efConstruction": 200},
        )  # fmt: skip
    client.create_collection(name, schema=schema, index_params=indexes)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"a collection is named by letters, digits and underscores, not {name!r}")


_STARTING = 180.0  # seconds: an engine that starts on a busy machine takes a while


def _connect(uri: str, token: str | None, *, must_exist: bool) -> MilvusClient:
    if is_file(uri):
        check_file(uri, must_exist=must_exist)
        wait_for_orphans(uri)
    else:
        parse_address(uri)  # complains about a password, which would end up in messages and files
    try:
        from pymilvus import MilvusClient
    except ImportError:
        raise UsageError(f"an index needs Milvus: {with_extra('milvus')}") from None
    with warnings.catch_warnings(), _named_errors(uri):
        warnings.simplefilter("ignore")  # milvus-lite's own import of pkg_resources
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # we raise what it would print
        if is_file(uri):
            return _start(uri)
        return MilvusClient(uri, token=token or "", timeout=10)


def _start(uri: str) -> MilvusClient:
    """Start the engine of a file; one that ends while it starts is started once more."""
    from milvus_lite.server_manager import server_manager_instance
    from pymilvus import MilvusClient
    from pymilvus.exceptions import MilvusException

    try:
        return MilvusClient(uri, timeout=_STARTING, grpc_options=_QUIET)
    except MilvusException as error:
        if "Fail connecting" not in str(error.message):
            raise
        server_manager_instance.release_server(uri)
    return MilvusClient(uri, timeout=_STARTING, grpc_options=_QUIET)


def _release(client: MilvusClient, uri: str) -> None:
    client.close()
    if is_file(uri):
        from milvus_lite.server_manager import server_manager_instance

        server_manager_instance.release_server(uri)


@contextmanager
def _released_on_error(client: MilvusClient, uri: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _release(client, uri)
        raise


@contextmanager
def _named_errors(uri: str) -> Iterator[None]:
    """Raise what the engine raises as an error of ours."""
    from grpc import RpcError
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except MilvusException as error:
        raise _translate(str(error.message).strip() or type(error).__name__, uri) from error
    except PermissionError as error:
        said = f"{uri} cannot be opened: its folder cannot be written to"
        raise StorageError(said) from error
    except RpcError as error:
        said = f"Milvus at {uri} does not answer: {error}"
        raise ServiceError(said, retryable=True) from error


def _translate(said: str, uri: str) -> NovaragError:
    if "Fail connecting" in said:
        return ServiceError(f"nobody answers at {uri}: is Milvus running there?", retryable=True)
    if "Open local milvus failed" in said:
        return StorageError(f"{uri} cannot be opened: another process may have it open")
    return ServiceError(f"Milvus at {uri}: {said}", retryable=False)


def _key(passage: Passage) -> str:
    return _hash(_source(passage))


def _hash(name: str) -> str:
    return blake2b(name.encode(), digest_size=16).hexdigest()


def _source(passage: Passage) -> str:
    if not passage.source:
        raise UsageError.saying("a passage of an index needs an id in `source`")
    return passage.source


def _check_size(passage: Passage) -> None:
    """Complain about a text that the engine would refuse, before anybody encodes it."""
    size = len(passage.text.encode())
    if size > _LONGEST:
        raise DataError(
            f"{passage.source} has a text of {size:,} bytes, and {_LONGEST:,} is the most.",
            hint=say("cut documents into passages with `words`."),
        )


def _row(passage: Passage) -> dict[str, Any]:
    return {"key": _key(passage), "source": _source(passage), "text": passage.text}


def _passage(entity: dict[str, Any]) -> Passage:
    return Passage(text=entity["text"], source=entity["source"], provenance=Provenance.RETRIEVED)


def _other_text(passage: Passage, uri: str) -> DataError:
    return DataError(
        f"{passage.source} has another text here than before.",
        hint="give each document its own id; put a changed corpus into another index.",
        source=uri,
    )
