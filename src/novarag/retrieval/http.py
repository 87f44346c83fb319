"""A search server of the user's own, over HTTP.

The wire format is one: `{"queries": ["…"], "k": 5}` is posted, and
`{"results": [[{"text": "…", "title": "…", "id": "…"}]]}` comes back, one list for each query.
`write` and `read` translate from and to any other.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from novarag.calls import CallError, Outcome
from novarag.errors import DataError, UsageError
from novarag.retrieval.adapters import as_passages, one_each
from novarag.texts import replace_halves
from novarag.web.endpoint import parse_address
from novarag.web.sending import Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from novarag.records import Passage
    from novarag.web.sending import Patience


def write_queries(queries: Sequence[str], k: int) -> object:
    """Say what is posted."""
    return {"queries": list(queries), "k": k}


def read_results(content: Any) -> object:  # noqa: ANN401 - foreign; what it is not raises
    """Take the lists of passages out of a reply."""
    return content["results"]


class HttpRetriever:
    """Searches by posting to an address; rate limits and failures are tried again.

    `write(queries, k)` says what is posted, `read(content)` takes out of the JSON that comes back
    one list for each query, of texts or of dicts with `text`, `title` and `id`. A server that
    takes one query at a time wants `batch=1`.
    """

    def __init__(
        self,
        url: str,
        *,
        key_env: str | None = None,
        write: Callable[[Sequence[str], int], object] = write_queries,
        read: Callable[[Any], object] = read_results,
        batch: int = 32,
        patience: Patience | None = None,
    ) -> None:
        if batch < 1:
            raise UsageError(f"send at least one query in a request, not {batch}")
        endpoint = parse_address(url, key_env=key_env)
        path = "/" if url.strip().endswith("/") else ""  # some servers insist on the last slash
        self._sender = Sender([endpoint], path, patience=patience)
        self._write, self._read, self._batch = write, read, batch

    async def search(self, queries: Sequence[str], *, k: int) -> Sequence[Sequence[Passage]]:
        """Post the queries in batches and read what comes back, or raise `CallError`."""
        size = self._batch
        batches = [queries[i : i + size] for i in range(0, len(queries), size)]
        try:
            async with self._sender, asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._post(batch, k)) for batch in batches]
        except ExceptionGroup as failed:  # the first stops the others
            raise failed.exceptions[0] from None
        return [passages for task in tasks for passages in task.result()]

    async def _post(self, queries: Sequence[str], k: int) -> list[tuple[Passage, ...]]:
        body = orjson.dumps(self._write([replace_halves(query) for query in queries], k))
        read = partial(self._understand, queries=queries, k=k)
        found, _ = await self._sender.post(body, read)
        return found

    def _understand(
        self, content: bytes, *, queries: Sequence[str], k: int
    ) -> list[tuple[Passage, ...]]:
        try:
            said = self._sender.secrets.redact_tree(orjson.loads(content))
            found = one_each(self._read(said), queries)
            return [as_passages(one, k=k) for one in found]
        except DataError as error:
            raise CallError(Outcome.INCOMPLETE, str(error)) from None
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            what = f'wanted {{"results": [[…], …]}}, one list for each query ({error!r})'
            raise CallError(Outcome.MALFORMED, what) from None
