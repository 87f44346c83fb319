"""Opening encoders, models of entailment and searches by how a user names them.

An object that was handed in is taken as it is.
"""

from __future__ import annotations

import asyncio
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, cast

from novarag.errors import UsageError
from novarag.flows.events import Note, silent
from novarag.imports import import_object

if TYPE_CHECKING:
    from novarag.flows.events import EventListener
    from novarag.ports import Retriever
    from novarag.retrieval.encoding import Encoder
    from novarag.uncertainty.semantic import Weigh

_SEARCHES = (
    "a Retriever, a function of (query, k), a retriever of LangChain or LlamaIndex, or"
    " 'package.module:OBJECT'"
)


async def open_encoder(
    encoder: str | Encoder, *, key_env: str | None = None, on_event: EventListener = silent
) -> Encoder:
    """Open an encoder: a server where the name is an address, else one on this machine."""
    if not isinstance(encoder, str):
        return _checked_encoder(encoder)
    from novarag.retrieval.remote_encoder import connect_encoder, is_address

    on_event(Note(f"opening the encoder {encoder}"))
    if is_address(encoder):
        return await connect_encoder(encoder, key_env=key_env)
    from novarag.retrieval.local_encoder import load_encoder

    return await asyncio.to_thread(load_encoder, encoder)


def _checked_encoder(encoder: Encoder) -> Encoder:
    if hasattr(encoder, "identity") and iscoroutinefunction(getattr(encoder, "encode", None)):
        return encoder
    raise TypeError(
        "encoder must be a folder, a model of the hub or 'URL=NAME', or an object with `identity`"
        f" and an async `encode`, not {type(encoder).__name__}"
    )


def open_entailment(nli: str | Weigh) -> Weigh:
    """Open a model of entailment: the user's own function, else a cross-encoder here."""
    if not isinstance(nli, str):
        if callable(nli):
            return nli
        raise TypeError(
            "nli must be a function of (premise, hypothesis) pairs, a folder, a model of the hub"
            f" or 'package.module:OBJECT', not {type(nli).__name__}"
        )
    if ":" not in nli:
        from novarag.llm.entailment import load_entailment
        from novarag.retrieval.local_encoder import find_folder

        return load_entailment(str(find_folder(nli) or nli))
    found = import_object(nli)
    if not callable(found):
        raise UsageError(
            f"{nli!r} cannot be called; give a function of (premise, hypothesis) pairs"
        )
    return cast("Weigh", found)


def open_search(
    search: object = None, *, http: str | None = None, key_env: str | None = None
) -> Retriever:
    """Open the user's own search: an object, one that can be imported by its name, or a server."""
    if (search is None) == (http is None):
        raise UsageError.saying("name the search by `search` or by `http`, one of them")
    if http is not None:
        from novarag.retrieval.http import HttpRetriever
        from novarag.web.sending import Patience

        return HttpRetriever(http, key_env=key_env, patience=Patience(attempts=3))
    if isinstance(search, str):
        return as_retriever(import_object(search), name=search)
    return as_retriever(search)


def as_retriever(found: object, *, name: str | None = None) -> Retriever:
    """Make a retriever of an object, by the methods it has; `name` is what it was imported by."""
    from novarag.retrieval.adapters import Work, from_callable, from_langchain, from_llamaindex

    if isinstance(found, type):
        if name is None:
            raise TypeError(f"search must be {_SEARCHES}, not the class {found.__name__}")
        raise UsageError(f"{name} is a class: name an object made of it")
    if iscoroutinefunction(getattr(found, "search", None)):
        return cast("Retriever", found)
    if hasattr(found, "aretrieve"):
        return from_llamaindex(found)
    if hasattr(found, "ainvoke"):
        return from_langchain(found)
    if callable(found):
        return from_callable(cast("Work", found))
    if name is None:
        raise TypeError(f"search must be {_SEARCHES}, not {type(found).__name__}")
    raise UsageError(f"{name} cannot search: it is a {type(found).__name__}")
