"""Opening an encoder by how a user names it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from novarag.retrieval.encoding import Encoder

EncoderSpec = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="A folder, a model of the hub such as facebook/contriever, package:NAME/FOLDER; or"
        " URL=NAME of a server with /v1/embeddings, tei+URL=NAME, tei-raw+URL=NAME.",
    ),
]


def open_encoder(spec: str, *, key_env: str | None = None) -> Encoder:
    """Open an encoder: a server where the spec is an address, else one on this machine."""
    from novarag.retrieval.remote_encoder import connect_encoder, is_address

    if not is_address(spec):
        from novarag.retrieval.local_encoder import load_encoder

        return load_encoder(spec)
    with ThreadPoolExecutor(max_workers=1) as thread:  # our caller may be in a loop of its own
        return thread.submit(asyncio.run, connect_encoder(spec, key_env=key_env)).result()
