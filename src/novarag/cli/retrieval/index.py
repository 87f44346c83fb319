"""`novarag retrieval index`: index a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from novarag.cli.console import screen
from novarag.cli.exit_codes import ExitCode
from novarag.cli.options import (
    CollectionName,
    EncoderSpec,
    KeyEnv,
    TokenEnv,
)


def index(
    corpus: Annotated[
        list[Path],
        typer.Argument(
            help="Files or folders with documents: tables (JSONL, Parquet, CSV) with `text`, and"
            " `id` and `title` where there are any; or pages (.txt, .md, .html), a document each."
        ),
    ],
    uri: Annotated[
        str, typer.Option(help="A file such as index.db, or http://HOST:PORT of a Milvus server.")
    ],
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
    collection: CollectionName = "passages",
    limit: Annotated[int | None, typer.Option(min=1, help="Take only so many documents.")] = None,
    key_env: KeyEnv = None,
    token_env: TokenEnv = "MILVUS_TOKEN",  # noqa: S107 - the name of a variable
) -> None:
    """Index a corpus for BM25 and, with an encoder, for vectors; run it again to go on."""
    from novarag.flows.index import build_index

    try:
        with screen() as on_event:
            built = build_index(
                corpus, uri, encoder=encoder, words=words, analyzer=analyzer, k1=k1, b=b,
                vectors=vectors, collection=collection, limit=limit, key_env=key_env,
                token_env=token_env, on_event=on_event,
            )  # fmt: skip
    except KeyboardInterrupt:
        print("\nstopped: run the same command to go on", file=sys.stderr)
        sys.exit(ExitCode.STOPPED)
    print(built)
    more = "" if encoder is None else f" --mode hybrid --encoder {encoder}"
    print(f"next: novarag retrieval retrieve QUESTIONS --uri {uri}{more} --out groups.jsonl")
