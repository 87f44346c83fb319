"""The NOVA benchmark rebuilt without its shortcuts, and groups from retrieval over its corpus."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.atomic import write_whole
from novarag.flows.events import Notice, StepResult, silent
from novarag.flows.group import audited, write_groups
from novarag.noise.group_build import MARGIN
from novarag.records import Passage, PassageGroup
from novarag.runner.sources import hash_of
from novarag.taxonomy import PassageKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from novarag.datasets.clean_card import BenchmarkFile
    from novarag.flows.events import EventListener
    from novarag.noise.group_build import GroupBuild
    from novarag.records import Question

_CARD = "README.md"
_RETRIEVED, _INDEX = "retrieved-", "retrieved.db"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Benchmark:
    """A rebuilt benchmark; `unlike` names the files that are not those of the recipe."""

    place: Path
    files: tuple[BenchmarkFile, ...]
    unlike: tuple[str, ...]

    @property
    def card(self) -> Path:
        """The data card."""
        return self.place / _CARD

    @property
    def with_shortcut(self) -> tuple[str, ...]:
        """Name the files in which an audit found a shortcut."""
        return tuple(f.name for f in self.files if f.audit is not None and f.audit.shortcuts)

    def __repr__(self) -> str:
        return "\n".join([f"nova-clean in {self.place}", *map(repr, self.files)])


def rebuild_benchmark(
    out: str | Path,
    *,
    data: str | Path | None = None,
    audit: bool = True,
    retrieved: bool = False,
    on_event: EventListener = silent,
) -> Benchmark:
    """Rebuild the NOVA benchmark without its shortcuts, from the released files.

    Args:
        out: A folder for the groups and for a data card (README.md) with their checksums.
        data: The folder that holds naacl/; None takes the folder that NOVARAG_DATA names.
        audit: Look for shortcuts in every file.
        retrieved: Make groups from real retrieval too, of the corpus in `data`/retrieval; that
            needs Milvus.
        on_event: A function that hears what happens, as records of `novarag.flows.events`. A
            file that is done is told as a `StepResult`.
    """
    from novarag.datasets.clean import check_inputs, known_outputs
    from novarag.datasets.clean_card import clean_card

    place = Path(out)
    for line in check_inputs(data):
        on_event(Notice(line))
    files: list[BenchmarkFile] = []
    built = chain(_built(data), _retrieved(place, data, on_event)) if retrieved else _built(data)
    for name, found in built:
        write_groups(found, place / name)
        digest = hash_of(place / name)
        files.append(_file(name, audited(found, MARGIN) if audit else found, digest))
        on_event(StepResult(name, files[-1]))
    write_whole(place / _CARD, clean_card(files).encode())
    known = known_outputs()
    pinned = [f for f in files if not f.name.startswith(_RETRIEVED)]
    unlike = tuple(f.name for f in pinned if known.get(f.name) != f.digest)
    return Benchmark(place=place, files=tuple(files), unlike=unlike)


def _built(data: str | Path | None) -> Iterator[tuple[str, GroupBuild]]:
    from novarag.datasets.clean import SIZES, SPLITS, clean_pools
    from novarag.noise.training_groups import training_groups

    for name in SPLITS:
        for split, pools in clean_pools(name, data=data).items():
            for k in SIZES:
                yield f"{name}-{split}-k{k}.jsonl", training_groups(pools, k=k, topical=True)


def _retrieved(
    place: Path, data: str | Path | None, on_event: EventListener
) -> Iterator[tuple[str, GroupBuild]]:
    from novarag.datasets.clean import SIZES
    from novarag.noise.groups import retrieved_groups

    place.mkdir(parents=True, exist_ok=True)
    for split, pools in retrieved_pools(place / _INDEX, data=data, on_event=on_event).items():
        for k in SIZES:
            yield f"{_RETRIEVED}{split}-k{k}.jsonl", retrieved_groups(pools, k=k)


def _file(name: str, found: GroupBuild, digest: str) -> BenchmarkFile:
    from novarag.datasets.clean import known_former_aurocs
    from novarag.datasets.clean_card import BenchmarkFile

    return BenchmarkFile(
        name=name, groups=len(found.groups), questions=len({g.question.id for g in found.groups}),
        digest=digest, short=found.short, faults=found.faults, audit=found.audit,
        unaudited=found.unaudited, formerly=known_former_aurocs().get(name),
    )  # fmt: skip


_DEPTH = 20  # passages that are looked at for a question


def retrieved_pools(
    uri: str | Path, *, data: str | Path | None = None, on_event: EventListener = silent
) -> dict[str, list[PassageGroup]]:
    """Return each split's questions with their gold passages and what BM25 finds for them.

    `uri` is an index of the corpus, made where it is not there yet; it needs Milvus
    (`novarag[milvus]`). `data` is the folder with retrieval/; left out, NOVARAG_DATA says it. Hand
    a split to `novarag.noise.groups.retrieved_groups` for groups of k passages.
    """
    from novarag.datasets.retrieved import corpus_file, corpus_texts, retrieved_questions
    from novarag.flows.index import build_index
    from novarag.flows.retrieve import retrieve

    asked, texts = retrieved_questions(data), corpus_texts(data)
    build_index([corpus_file(data)], uri, words=0, on_event=on_event)
    every = [question for split in asked.values() for question, _ in split]
    found = {
        group.question.id: [str(p.source) for p in group.passages]
        for group in retrieve(every, uri=uri, mode="bm25", k=_DEPTH, on_event=on_event).groups
    }
    return {
        split: [_pool(q, gold, found.get(q.id, []), texts) for q, gold in questions]
        for split, questions in asked.items()
    }


def _pool(
    question: Question, gold: Iterable[str], found: Iterable[str], texts: Mapping[str, str]
) -> PassageGroup:
    """Put gold first; titles are left out, as some gold passages have none."""
    known = dict.fromkeys(gold)
    passages = [
        Passage(
            text=texts[name],
            kind=PassageKind.GOLD if name in known else None,
            provenance=Provenance.RETRIEVED,
            source=name,
        )
        for name in dict.fromkeys([*known, *found])
    ]
    return PassageGroup(question=question, passages=tuple(passages), id=question.id)
