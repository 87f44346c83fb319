"""Opening an encoder, or a model of entailment, by how a user names it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, cast

import typer

from novarag.errors import UsageError
from novarag.imports import import_object

if TYPE_CHECKING:
    from novarag.retrieval.encoding import Encoder
    from novarag.uncertainty.semantic import Weigh

EncoderSpec = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="A folder, a model of the hub such as facebook/contriever, package:NAME/FOLDER; or"
        " URL=NAME of a server with /v1/embeddings, tei+URL=NAME, tei-raw+URL=NAME.",
    ),
]

EntailmentSpec = Annotated[
    str | None,
    typer.Option(
        "--nli",
        help="A cross-encoder of entailment, a folder or a model of the hub; or"
        " package.module:OBJECT, called with (premise, hypothesis) pairs; returns chances of"
        " entailment, neutral and contradiction for each.",
    ),
]


def open_entailment(spec: str) -> Weigh:
    """Open a model of entailment: the user's own function, else a cross-encoder here."""
    if ":" not in spec:
        from novarag.llm.entailment import load_entailment
        from novarag.retrieval.local_encoder import find_folder

        return load_entailment(str(find_folder(spec) or spec))
    found = import_object(spec)
    if not callable(found):
        raise UsageError(
            f"{spec!r} cannot be called; give a function of (premise, hypothesis) pairs"
        )
    return cast("Weigh", found)


def open_encoder(spec: str, *, key_env: str | None = None) -> Encoder:
    """Open an encoder: a server where the spec is an address, else one on this machine."""
    from novarag.retrieval.remote_encoder import connect_encoder, is_address

    if not is_address(spec):
        from novarag.retrieval.local_encoder import load_encoder

        return load_encoder(spec)
    with ThreadPoolExecutor(max_workers=1) as thread:  # our caller may be in a loop of its own
        return thread.submit(asyncio.run, connect_encoder(spec, key_env=key_env)).result()
