"""What an index was made with. Two indexes compare only where their manifests do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import orjson

from novarag.defaults import INDEX
from novarag.errors import DataError, UnknownNameError, UsageError
from novarag.prose import say
from novarag.retrieval.encoding import EncoderIdentity

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1  # of the manifest; a reader refuses others

_STOP_WORDS = tuple(
    "a an and are as at be but by for if in into is it no not of on or such that the their then"  # noqa: SIM905
    " there these they this to was will with".split()
)

ANALYZERS: dict[str, dict[str, Any]] = {
    "english": {
        "tokenizer": "standard",
        "filter": [
            "lowercase",
            {"type": "stop", "stop_words": list(_STOP_WORDS)},
            {"type": "stemmer", "language": "english"},
        ],
    },
    "plain": {"tokenizer": "standard", "filter": ["lowercase"]},
}
"""How a text is taken apart for BM25, each step written out: an engine's own names may change."""


VECTORS = ("exact", "graph")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexManifest:
    """Everything that decides what an index finds, besides its corpus.

    `vectors` is `exact`, or `graph` (HNSW) for collections too large to compare every vector.
    """

    analyzer: str = INDEX.analyzer
    k1: float = INDEX.k1
    b: float = INDEX.b
    words: int = INDEX.words
    encoder: EncoderIdentity | None = None
    vectors: str = INDEX.vectors
    format: int = field(default=FORMAT)

    def __post_init__(self) -> None:
        if self.analyzer not in ANALYZERS:
            raise UnknownNameError(self.analyzer, ANALYZERS)
        if self.vectors not in VECTORS:
            raise UnknownNameError(self.vectors, VECTORS)
        if not (0 <= self.k1 <= 3 and 0 <= self.b <= 1):  # what Milvus takes
            raise UsageError(f"BM25 wants k1 in 0 to 3 and b in 0 to 1, not {self.k1} {self.b}")

    def facts(self) -> dict[str, Any]:
        """Return the manifest as plain values, the analyzer written out."""
        return asdict(self) | {"analysis": ANALYZERS[self.analyzer]}


def write_manifest(manifest: IndexManifest) -> str:
    """Write a manifest as JSON."""
    return orjson.dumps(manifest.facts(), option=orjson.OPT_SORT_KEYS).decode()


def read_manifest(text: str, *, source: str) -> IndexManifest:
    """Read a manifest back, or raise `DataError` where a collection has none of ours."""
    try:
        return _parse(orjson.loads(text))
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            "this collection does not say how it was made, so it is not one of ours.",
            hint=say("name another collection; `build_index(...)` makes one."),
            source=source,
        ) from error


def _parse(facts: Mapping[str, Any]) -> IndexManifest:
    if facts["format"] != FORMAT:
        raise ValueError(f"format {facts['format']}")
    known = {f.name for f in fields(IndexManifest)}
    values = {name: value for name, value in facts.items() if name in known}
    encoder = values.get("encoder")
    values["encoder"] = None if encoder is None else EncoderIdentity(**encoder)
    manifest = IndexManifest(**values)
    if manifest.facts() != facts:
        raise ValueError("the analyzer has changed")
    return manifest


def differences(theirs: IndexManifest, ours: IndexManifest) -> list[str]:
    """Say in what two manifests differ; an empty list where the indexes compare.

    >>> differences(IndexManifest(), IndexManifest(k1=1.2))
    ['k1 is 0.9 there, 1.2 here']
    """
    there, here = _flat(theirs), _flat(ours)
    return [
        f"{name} is {_short(there[name])} there, {_short(here[name])} here"
        for name in here
        if name in there and there[name] != here[name]
    ]


def _flat(manifest: IndexManifest) -> dict[str, object]:
    facts = asdict(manifest)
    encoder = facts.pop("encoder")
    if encoder is None:
        return facts | {"the encoder": None}
    named = {f"the encoder's {part}": value for part, value in encoder.items()}
    return facts | {"the encoder": encoder["name"]} | named


def _short(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:24]}…"
