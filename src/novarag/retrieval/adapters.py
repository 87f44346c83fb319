"""The user's own search as a `Retriever`: a function, or a retriever of LangChain or LlamaIndex.

Neither package is imported here: their documented methods are called on the object handed in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from novarag.errors import DataError, UsageError
from novarag.records import Passage
from novarag.taxonomy import Provenance
from novarag.texts import plain_text, replace_halves

if TYPE_CHECKING:
    from novarag.ports import Retriever

FoundPassage = str | Mapping[str, object] | Passage
"""A passage as a search may give it: a text, a dict with `text`, or a `Passage`."""

SearchOne = Callable[[str, int], Sequence[FoundPassage] | Awaitable[Sequence[FoundPassage]]]
SearchMany = Callable[[Sequence[str], int], Sequence[Sequence[FoundPassage]]]
SearchManyAsync = Callable[[Sequence[str], int], Awaitable[Sequence[Sequence[FoundPassage]]]]
Work = SearchOne | SearchMany | SearchManyAsync
_Value = TypeVar("_Value")


def as_passage(found: FoundPassage) -> Passage:
    r"""Read one passage; a title joins the text, and `id` or `source` says where it comes from.

    >>> as_passage({"title": "Light", "text": "It was lit.", "id": 7}).text
    'Light\nIt was lit.'
    """
    if isinstance(found, Passage):
        return found if found.provenance else replace(found, provenance=Provenance.RETRIEVED)
    cells = _cells(found)
    text = cells.get("text")
    if not isinstance(text, str) or not text.strip():
        raise DataError(
            f"the search gave {plain_text(repr(found), longest=80)}, which has no text.",
            hint='give a text, or {"text": …, "title": …, "id": …}.',
        )
    title, name = cells.get("title"), cells.get("id", cells.get("source"))
    text = replace_halves(text)
    if isinstance(title, str) and title.strip():
        head = replace_halves(title.strip()) + "\n"
        text = text if text.startswith(head) else head + text
    source = None if name is None else replace_halves(str(name))
    return Passage(text=text, source=source, provenance=Provenance.RETRIEVED)


def _cells(found: object) -> Mapping[str, object]:
    if isinstance(found, str):
        return {"text": found}
    return found if isinstance(found, Mapping) else {}


def as_passages(found: object, *, k: int) -> tuple[Passage, ...]:
    """Read what was found for one query; what is more than `k` is left off."""
    return tuple(as_passage(one) for one in listed(found, "passages")[:k])


def listed(found: object, what: str) -> Sequence[Any]:
    """Check that a search gave a list."""
    if isinstance(found, Sequence) and not isinstance(found, str | bytes):
        return found
    raise DataError(
        f"the search gave a {type(found).__name__} where a list of {what} belongs.",
        hint=f"give a list of {what}, best first.",
    )


def one_each(found: object, queries: Sequence[str]) -> Sequence[Any]:
    """Check that a search gave one list for each query."""
    lists = listed(found, "lists, one for each query,")
    if len(lists) != len(queries):
        raise DataError(
            f"the search gave {len(lists):,} lists for {len(queries):,} queries.",
            hint="give one list for each query, in their order; it may be empty.",
        )
    return lists


def from_callable(work: Work, *, batch: bool = False, concurrency: int = 8) -> Retriever:
    """Make a retriever of a function `(query, k)`, or of `(queries, k)` where `batch` is true.

    The function may be async; one that is not runs in a thread, so it must bear being called
    `concurrency` times at once. It gives texts, dicts with `text`, `title` and `id`, or passages.
    """
    if concurrency < 1:
        raise UsageError(f"let at least one query run at a time, not {concurrency}")
    return _SearchFunction(work, batch, concurrency)


@dataclass(frozen=True, slots=True)
class _SearchFunction:
    work: Work
    batch: bool
    concurrency: int

    async def search(self, queries: Sequence[str], *, k: int) -> Sequence[Sequence[Passage]]:
        """Call the function for all queries, or for each."""
        if self.batch:
            found = one_each(
                await _called(cast("SearchMany", self.work), list(queries), k), queries
            )
            return [as_passages(one, k=k) for one in found]
        work = cast("SearchOne", self.work)
        return await each(
            queries, lambda query: _called(work, query, k), k=k, concurrency=self.concurrency
        )


async def _called(work: Callable[[_Value, int], object], what: _Value, k: int) -> object:
    if iscoroutinefunction(work) or iscoroutinefunction(getattr(work, "__call__", None)):  # noqa: B004
        found = work(what, k)
    else:
        found = await asyncio.to_thread(work, what, k)
    return await found if isawaitable(found) else found


async def each(
    queries: Sequence[str],
    find: Callable[[str], Awaitable[object]],
    *,
    k: int,
    concurrency: int,
) -> list[tuple[Passage, ...]]:
    """Search for each query, so many at a time; the first failure stops the others."""
    room = asyncio.Semaphore(concurrency)

    async def one(query: str) -> tuple[Passage, ...]:
        async with room:
            return as_passages(await find(query), k=k)

    tasks = [asyncio.ensure_future(one(query)) for query in queries]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _LangChain(Protocol):
    async def ainvoke(self, input: str, **kwargs: Any) -> Any: ...  # noqa: A002, ANN401 - theirs


class _LlamaIndex(Protocol):
    async def aretrieve(self, query: str) -> Any: ...  # noqa: ANN401 - theirs


def from_langchain(retriever: _LangChain, *, concurrency: int = 8) -> Retriever:
    """Make a retriever of a LangChain one.

    A retriever over a vector store is told `k`; any other gives as many passages as it was made
    for, and what is more than `k` is left off.
    """
    _check(retriever, "ainvoke", "a LangChain retriever", "store.as_retriever()")
    told_k = isinstance(getattr(retriever, "search_kwargs", None), dict)

    async def find(query: str, k: int) -> list[dict[str, object]]:
        found = await retriever.ainvoke(query, **({"k": k} if told_k else {}))
        return [_of_document(document) for document in listed(found, "documents")]

    return from_callable(find, concurrency=concurrency)


def _of_document(document: Any) -> dict[str, object]:  # noqa: ANN401 - theirs
    metadata = document.metadata or {}
    name = document.id if getattr(document, "id", None) is not None else _name(metadata)
    return {"text": document.page_content, "title": metadata.get("title"), "id": name}


def from_llamaindex(retriever: _LlamaIndex, *, concurrency: int = 8) -> Retriever:
    """Make a retriever of a LlamaIndex one, which must have been made for `k` passages or more."""
    _check(retriever, "aretrieve", "a LlamaIndex retriever", "index.as_retriever()")

    async def find(query: str, k: int) -> list[dict[str, object]]:
        most = getattr(retriever, "similarity_top_k", None)
        if isinstance(most, int) and most < k:
            raise UsageError(
                f"this retriever gives {most} passages, and {k} are wanted: make it with"
                f" similarity_top_k={k}"
            )
        found = await retriever.aretrieve(query)
        return [_of_node(scored.node) for scored in listed(found, "nodes")]

    return from_callable(find, concurrency=concurrency)


def _of_node(node: Any) -> dict[str, object]:  # noqa: ANN401 - theirs
    metadata = node.metadata or {}
    return {"text": node.get_content(), "title": metadata.get("title"), "id": node.node_id}


def _name(metadata: Mapping[str, object]) -> object:
    return metadata.get("id", metadata.get("source"))


def _check(found: object, method: str, what: str, such: str) -> None:
    if isinstance(found, type) or not callable(getattr(found, method, None)):
        shown = found.__name__ if isinstance(found, type) else type(found).__name__
        raise UsageError(f"{shown} is not {what}: give one such as {such}")
