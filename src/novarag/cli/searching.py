"""Opening the user's own search by how it is named on the command line."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Annotated, cast

import typer

from novarag.errors import UsageError
from novarag.imports import import_object

if TYPE_CHECKING:
    from novarag.ports import Retriever

SearchObject = Annotated[
    str | None,
    typer.Option(
        "--with",
        help="package.module:OBJECT that searches: a function of (query, k), a Retriever, or a"
        " retriever of LangChain or LlamaIndex.",
    ),
]
SearchUrl = Annotated[
    str | None,
    typer.Option("--http", help="URL of a search server that takes queries and k as JSON."),
]


def open_search(
    *, with_: str | None = None, http: str | None = None, key_env: str | None = None
) -> Retriever:
    """Open the user's own search: an object that can be imported, or a server."""
    if (with_ is None) == (http is None):
        raise UsageError("name the search by --with or by --http, one of them")
    if http is not None:
        from novarag.retrieval.http import HttpRetriever
        from novarag.web.sending import Patience

        return HttpRetriever(http, key_env=key_env, patience=Patience(attempts=3))
    return as_retriever(import_object(with_ or ""), with_ or "")


def as_retriever(found: object, name: str) -> Retriever:
    """Make a retriever of an object, by the methods it has."""
    from novarag.retrieval.adapters import Work, from_callable, from_langchain, from_llamaindex

    if isinstance(found, type):
        raise UsageError(f"{name} is a class: name an object made of it")
    if iscoroutinefunction(getattr(found, "search", None)):
        return cast("Retriever", found)
    if hasattr(found, "aretrieve"):
        return from_llamaindex(found)
    if hasattr(found, "ainvoke"):
        return from_langchain(found)
    if callable(found):
        return from_callable(cast("Work", found))
    raise UsageError(f"{name} cannot search: it is a {type(found).__name__}")
