"""The verbs of retrieval: index a corpus, and find passages for questions."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from novarag.atomic import whole_file
from novarag.cli.encoders import EncoderSpec, open_encoder
from novarag.cli.models import KeyEnv  # noqa: TC001 - typer looks at it
from novarag.cli.screen import Meter
from novarag.cli.searching import SearchObject, SearchUrl, open_search
from novarag.errors import DataError, NovaragError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.ports import Retriever
    from novarag.records import Passage, PassageGroup, Question
    from novarag.retrieval.building import Growth
    from novarag.retrieval.encoding import Encoder
    from novarag.retrieval.milvus import Index

_BLOCK = 1000  # questions searched together
_ENCODED = 250  # passages encoded together: what a kill costs, and how often progress shows
_MOST = 16_384  # passages that Milvus finds for one query

Uri = Annotated[
    str, typer.Option(help="A file such as index.db, or http://HOST:PORT of a Milvus server.")
]
Collection = Annotated[str, typer.Option(help="Name of the collection.")]
TokenEnv = Annotated[
    str, typer.Option(help="Environment variable that holds the token of the Milvus server.")
]


def index(
    corpus: Annotated[
        list[Path],
        typer.Argument(
            help="Files or folders with documents (JSONL, Parquet, CSV): `text`, and `id` and"
            " `title` where there are any."
        ),
    ],
    uri: Uri,
    encoder: EncoderSpec = None,
    words: Annotated[
        int, typer.Option(min=0, help="Most words of a passage; 0 keeps documents whole.")
    ] = 100,
    analyzer: Annotated[
        Literal["english", "plain"],
        typer.Option(help="How words are found: english (stop words go, stems stay) or plain."),
    ] = "english",
    k1: Annotated[
        float, typer.Option("--k1", min=0, max=3, help="BM25: weight of repetition.")
    ] = 0.9,
    b: Annotated[float, typer.Option("--b", min=0, max=1, help="BM25: how length counts.")] = 0.4,
    vectors: Annotated[
        Literal["exact", "graph"],
        typer.Option(help="Compare every vector, or walk a graph (HNSW, on a server only)."),
    ] = "exact",
    collection: Collection = "passages",
    limit: Annotated[int | None, typer.Option(min=1, help="Take only so many documents.")] = None,
    key_env: KeyEnv = None,
    token_env: TokenEnv = "MILVUS_TOKEN",  # noqa: S107 - the name of a variable
) -> None:
    """Index a corpus for BM25 and, with an encoder, for vectors; run it again to go on."""
    from novarag.datasets.corpus import find_files
    from novarag.retrieval.manifest import Manifest
    from novarag.retrieval.milvus import create_index

    for path in corpus:
        find_files(path)  # before an index is made for a corpus that is not there
    opened = _encoder(encoder, key_env)
    manifest = Manifest(
        analyzer=analyzer, k1=k1, b=b, words=words, vectors=vectors,
        encoder=None if opened is None else opened.identity,
    )  # fmt: skip
    token = os.environ.get(token_env)
    try:
        with create_index(uri, manifest, name=collection, token=token) as found:
            growth = build_index(found, corpus, opened, limit=limit)
    except KeyboardInterrupt:
        print("\nstopped: run the same command to go on", file=sys.stderr)
        sys.exit(130)
    if not growth.seen:
        raise UsageError(f"{', '.join(map(str, corpus))} has no documents")
    more = "" if opened is None else f" --mode hybrid --encoder {encoder}"
    print(f"next: novarag retrieve QUESTIONS --uri {uri}{more} --out groups.jsonl")


def build_index(
    found: Index, corpus: Sequence[Path], encoder: Encoder | None, *, limit: int | None = None
) -> Growth:
    """Fill an index from files, showing how far it is."""
    from novarag.datasets.corpus import iter_documents
    from novarag.retrieval.building import BATCH, fill
    from novarag.retrieval.chunks import cut

    began, meter = monotonic(), Meter("passages")
    passages = cut(islice(iter_documents(corpus), limit), words=found.manifest.words)
    with meter:
        growth = asyncio.run(
            fill(
                found, passages, encoder=encoder, batch=BATCH if encoder is None else _ENCODED,
                tell=lambda g: meter.show(g.seen, g.added),
            )
        )  # fmt: skip
    speed = f" ({growth.added / (monotonic() - began):,.0f} a second)" if growth.added else ""
    print(
        f"{growth.added:,} passages added{speed}, {growth.seen - growth.added:,} already there;"
        f" the index has {found.count():,}"
    )
    return growth


def _encoder(spec: str | None, key_env: str | None) -> Encoder | None:
    if spec is None:
        return None
    print(f"opening the encoder {spec}", file=sys.stderr)
    return open_encoder(spec, key_env=key_env)


def retrieve(
    questions: Annotated[
        Path,
        typer.Argument(help="Questions (JSONL, Parquet, CSV): `question`, `id`, `answers`."),
    ],
    out: Annotated[Path, typer.Option(help="File for the groups: .jsonl.")],
    uri: Annotated[
        str | None,
        typer.Option(help="Index to search: a file such as index.db, or http://HOST:PORT."),
    ] = None,
    mode: Annotated[
        Literal["bm25", "dense", "hybrid"],
        typer.Option(help="Search by words, by vectors, or by both (reciprocal rank)."),
    ] = "bm25",
    k: Annotated[
        int, typer.Option("--k", "-k", min=1, max=_MOST, help="Passages for a question.")
    ] = 5,
    encoder: EncoderSpec = None,
    with_: SearchObject = None,
    http: SearchUrl = None,
    collection: Collection = "passages",
    limit: Annotated[int | None, typer.Option(min=1, help="Take only so many questions.")] = None,
    key_env: KeyEnv = None,
    token_env: TokenEnv = "MILVUS_TOKEN",  # noqa: S107 - the name of a variable
) -> None:
    """Find passages for questions, and write them as groups that `ask` and `annotate` read."""
    if out.suffix != ".jsonl":
        raise UsageError(f"{out} must end in .jsonl")
    if sum(way is not None for way in (uri, with_, http)) != 1:
        raise UsageError("say where to search: --uri, --with or --http, one of them")
    with ExitStack() as stack:
        search: Retriever
        if uri is None:
            search, name = open_search(with_=with_, http=http, key_env=key_env), "own"
        else:
            from novarag.retrieval.milvus import open_index
            from novarag.retrieval.searching import MilvusRetriever

            token = os.environ.get(token_env)
            found = stack.enter_context(open_index(uri, name=collection, token=token))
            opened = _encoder(encoder, key_env)
            search, name = MilvusRetriever(found, mode=mode, encoder=opened), mode
        try:
            found_now = write_retrieved(
                questions, search, out, name=f"{name}-k{k}", k=k, limit=limit
            )
        except Exception as error:
            if with_ is None or isinstance(error, NovaragError):
                raise  # a mistake of ours must not look like the user's
            raise UsageError(f"{with_} raised {type(error).__name__}: {error}") from error
    print(found_now)
    if found_now.unanswered:
        print(f"{found_now.unanswered:,} questions have no answers, which `annotate` needs")
    print(f"wrote {out}; next: novarag annotate {out} --out profile")


def write_retrieved(
    questions: Path, search: Retriever, out: Path, *, name: str, k: int, limit: int | None = None
) -> Retrieved:
    """Search for every question and write the groups, whole or not at all."""
    from novarag.datasets.groups import group_line, iter_questions
    from novarag.retrieval.building import blocks

    told = Retrieved()

    async def work(file: BinaryIO, meter: Meter) -> None:
        for block in blocks(islice(iter_questions(questions), limit), _BLOCK):
            found = await search.search([q.text for q in block], k=k)
            file.writelines(
                group_line(_group(question, passages, name))
                for question, passages in zip(block, found, strict=True)
            )
            told.count(block, found)
            meter.show(told.questions, told.questions)

    out.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(out) as file:
        with Meter("questions") as meter:
            asyncio.run(work(file, meter))
        if not told.questions:
            raise UsageError(f"{questions} has no questions")
    return told


@dataclass(slots=True)
class Retrieved:
    """What a search found for a file of questions."""

    questions: int = 0
    passages: int = 0
    empty: int = 0
    unanswered: int = 0
    ids: set[str] = field(default_factory=set)

    def count(self, block: Sequence[Question], found: Sequence[Sequence[Passage]]) -> None:
        """Count what a block of questions found; an id may stand there once."""
        for question, passages in zip(block, found, strict=True):
            if question.id in self.ids:
                raise DataError(
                    f"two questions are called {question.id!r}.",
                    mend="give each question an id of its own.", column="id",
                )  # fmt: skip
            self.ids.add(question.id)
            self.questions += 1
            self.passages += len(passages)
            self.empty += not passages
            self.unanswered += not question.answers

    def __str__(self) -> str:
        """Say it in a line."""
        nothing = f"; nothing for {self.empty:,} of them" if self.empty else ""
        return f"{self.passages:,} passages for {self.questions:,} questions{nothing}"


def _group(question: Question, passages: Sequence[Passage], name: str) -> PassageGroup:
    from novarag.records import PassageGroup

    return PassageGroup(question=question, passages=tuple(passages), id=f"{question.id}/{name}")
