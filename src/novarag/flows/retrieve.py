"""Find passages for questions, in an index or by the user's own search."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.defaults import RETRIEVE
from novarag.errors import DataError, UsageError
from novarag.flows.encoders import open_encoder, open_search
from novarag.flows.events import FileWritten, StepProgress, silent
from novarag.flows.index import TOKEN_ENV
from novarag.flows.sync import synchronous
from novarag.records import PassageGroup, Question
from novarag.retrieval.building import blocks
from novarag.retrieval.milvus import COLLECTION, open_index
from novarag.retrieval.searching import MilvusRetriever
from novarag.retrieval.threads import in_thread, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from novarag.flows.events import EventListener
    from novarag.ports import Retriever
    from novarag.retrieval.encoding import Encoder

    Questions = str | Path | Iterable[str | Question]

_BLOCK = 1000  # questions searched together


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalResult:
    """What a search found: how many questions and passages, and the groups of them.

    `empty` counts questions for which nothing was found, `unanswered` those without known answers.
    Groups that were written to `out` are not held, but read again when they are asked for.
    """

    questions: int
    passages: int
    empty: int
    unanswered: int
    out: Path | None = None
    held: tuple[PassageGroup, ...] = field(default=(), repr=False)

    @property
    def groups(self) -> tuple[PassageGroup, ...]:
        """The questions with their passages, best first."""
        if self.out is None:
            return self.held
        from novarag.datasets import iter_groups

        return tuple(iter_groups(self.out))

    def __str__(self) -> str:
        """Say it in a line."""
        nothing = f"; nothing for {self.empty:,} of them" if self.empty else ""
        return f"{self.passages:,} passages for {self.questions:,} questions{nothing}"


async def retrieve_async(
    questions: Questions,
    *,
    out: str | Path | None = None,
    uri: str | Path | None = None,
    mode: str = RETRIEVE.mode,
    k: int = RETRIEVE.k,
    encoder: str | Encoder | None = None,
    search: object = None,
    http: str | None = None,
    collection: str = COLLECTION,
    limit: int | None = None,
    key_env: str | None = None,
    token_env: str = TOKEN_ENV,
    on_event: EventListener = silent,
) -> RetrievalResult:
    """Find passages for questions, as groups that `ask` and `annotate` take.

    Say where to search by `uri`, `search` or `http`, one of them.

    Args:
        questions: A file (JSONL, Parquet, CSV) with `question`, `id` and `answers`; or questions,
            as texts or `Question` objects.
        out: A .jsonl file for the groups, written whole or not at all; None keeps them in memory.
        uri: An index: a file such as `index.db`, or `http://HOST:PORT` of a Milvus server.
        mode: How an index is searched: by words ("bm25"), by vectors ("dense"), or by both
            ("hybrid").
        k: Passages for a question.
        encoder: The encoder that the index was made with, as `build_index` takes it.
        search: A search of one's own: a `Retriever`, a function of (query, k), a retriever of
            LangChain or LlamaIndex, or "package.module:OBJECT".
        http: The address of a search server that takes queries and k as JSON.
        collection: The collection's name.
        limit: Take only so many questions.
        key_env: Environment variable that holds the key of the encoder's or the search server.
        token_env: Environment variable that holds the token of the Milvus server.
        on_event: Hears `Note`, `StepProgress` and `FileWritten`.
    """
    place = None if out is None else Path(out)
    if place is not None and place.suffix != ".jsonl":
        raise UsageError(f"{place} must end in .jsonl")
    if sum(given is not None for given in (uri, search, http)) != 1:
        raise UsageError.saying("say where to search: `uri`, `search` or `http`, one of them")
    if k < 1:
        raise UsageError(f"cannot look for {k} passages")
    async with AsyncExitStack() as stack:
        found: Retriever
        if uri is None:
            found, name = open_search(search, http=http, key_env=key_env), "own"
        else:
            token = os.environ.get(token_env)
            opens = partial(open_index, str(uri), name=collection, token=token)
            index = await stack.enter_async_context(opened(opens))
            own = None
            if encoder is not None:
                own = await open_encoder(encoder, key_env=key_env, on_event=on_event)
            found, name = await in_thread(MilvusRetriever, index, mode=mode, encoder=own), mode
        asked = _questions(questions, limit)
        look = partial(_look, asked, found, name=f"{name}-k{k}", k=k, on_event=on_event)
        if place is None:
            held: list[PassageGroup] = []
            return replace(await look(held.extend), held=tuple(held))
        with _whole_file(place) as keep:
            counted = await look(keep)
    on_event(FileWritten(place))
    return replace(counted, out=place)


retrieve = synchronous(retrieve_async)


async def _look(
    questions: Iterable[Question],
    search: Retriever,
    keep: Callable[[Iterable[PassageGroup]], object],
    *,
    name: str,
    k: int,
    on_event: EventListener,
) -> RetrievalResult:
    """Search for every question, so many at a time, and count what was found."""
    asked = passages = empty = unanswered = 0
    for block in blocks(questions, _BLOCK):
        found = await search.search([question.text for question in block], k=k)
        groups = [
            PassageGroup(question=question, passages=tuple(few), id=f"{question.id}/{name}")
            for question, few in zip(block, found, strict=True)
        ]
        keep(groups)
        asked += len(groups)
        passages += sum(len(group.passages) for group in groups)
        empty += sum(not group.passages for group in groups)
        unanswered += sum(not group.question.answers for group in groups)
        on_event(StepProgress("questions", asked, asked))
    return RetrievalResult(questions=asked, passages=passages, empty=empty, unanswered=unanswered)


def _questions(questions: Questions, limit: int | None) -> Iterator[Question]:
    """Take questions from a file, or as they are; one at least, and each id once."""
    if isinstance(questions, (str, Path)):
        from novarag.datasets.groups import iter_questions

        given, lacking = iter_questions(questions), f"{questions} has no questions"
    else:
        given, lacking = map(_question, _listed(questions)), "there are no questions"
    ids: set[str] = set()
    for question in islice(given, limit):
        if question.id in ids:
            raise DataError(
                f"two questions are called {question.id!r}.",
                hint="give each question an id of its own.", column="id",
            )  # fmt: skip
        ids.add(question.id)
        yield question
    if not ids:
        raise UsageError(lacking)


def _listed(questions: object) -> Iterable[object]:
    if isinstance(questions, Iterable):
        return questions
    raise _unexpected(questions)


def _question(given: object) -> Question:
    if isinstance(given, Question):
        return given
    if isinstance(given, str):
        return Question(id=given, text=given)
    raise _unexpected(given)


def _unexpected(given: object) -> TypeError:
    return TypeError(
        "questions must be the path of a file, or texts or Question objects, not"
        f" {type(given).__name__}"
    )


@contextmanager
def _whole_file(out: Path) -> Iterator[Callable[[Iterable[PassageGroup]], None]]:
    """Give what writes groups to a file that is there whole or not at all."""
    from novarag.atomic import whole_file
    from novarag.datasets.groups import group_line

    out.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(out) as file:
        yield lambda groups: file.writelines(map(group_line, groups))
