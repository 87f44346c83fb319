"""`novarag retrieval retrieve`: find passages for questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from novarag.cli.console import screen
from novarag.cli.options import (
    CollectionName,
    EncoderSpec,
    KeyEnv,
    SearchObject,
    SearchUrl,
    TokenEnv,
)
from novarag.errors import NovaragError, UsageError
from novarag.flows.events import FileWritten

_MOST = 16_384  # passages that Milvus finds for one query


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
    search: SearchObject = None,
    http: SearchUrl = None,
    collection: CollectionName = "passages",
    limit: Annotated[int | None, typer.Option(min=1, help="Take only so many questions.")] = None,
    key_env: KeyEnv = None,
    token_env: TokenEnv = "MILVUS_TOKEN",  # noqa: S107 - the name of a variable
) -> None:
    """Find passages for questions, and write them as groups that `ask` and `annotate` read."""
    from novarag.flows.retrieve import retrieve as find

    try:
        with screen() as on_event:
            found = find(
                questions, out=out, uri=uri, mode=mode, k=k, encoder=encoder, search=search,
                http=http, collection=collection, limit=limit, key_env=key_env,
                token_env=token_env,
                on_event=lambda event: None if isinstance(event, FileWritten) else on_event(event),
            )  # fmt: skip
    except Exception as error:
        if search is None or isinstance(error, NovaragError):
            raise  # a mistake of ours must not look like the user's
        raise UsageError(f"{search} raised {type(error).__name__}: {error}") from error
    print(found)
    if found.unanswered:
        print(f"{found.unanswered:,} questions have no answers, which `annotate` needs")
    then = f"annotate {out} --out profile"
    if found.unanswered == found.questions:
        then = f"ask {out} --model URL=NAME --out run"
    print(f"wrote {out}; next: novarag {then}")
