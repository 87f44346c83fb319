"""Sending scored answers to where traces are looked at, in batches, each thing once.

What a tool has taken is written down beside the answers, a line for each batch: a send that was
killed goes on, and one that is repeated sends nothing. What was sent but not yet written down is
sent again under the same id, which every tool takes for the same thing.
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import orjson

from novarag.calls import CallError, Outcome
from novarag.errors import ServiceError, UnknownNameError, UsageError
from novarag.flows.events import PartsProgress, TableRead, silent
from novarag.flows.sync import synchronous
from novarag.imports import import_object
from novarag.integrations.annotations import ToolAnnotation as ToolAnnotation
from novarag.integrations.annotations import place_answers
from novarag.integrations.sent_log import SentLog
from novarag.web.endpoint import parse_address
from novarag.web.sending import Patience, Sender

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from novarag.answers.opening.columns import Columns
    from novarag.flows.events import EventListener

SINKS = {
    "langfuse": "novarag.integrations.langfuse:Langfuse",
    "mlflow": "novarag.integrations.mlflow_traces:MlflowTraces",
    "phoenix": "novarag.integrations.phoenix:Phoenix",
}
"""The tools that answers can be sent to, and what sends to each."""

_FUTILE = 50  # refusals in a row with nothing taken, after which it is no use to go on
_SHOWN = 5  # refusals that are printed


class Sink(Protocol):
    """What sends to one tool; it is made with the tool's address, or None for the usual one.

    `place` says where to, without a key; `most` how many are sent at once; `needs` whether
    annotations go to a "trace" or a "span"; `documents` whether passages have some of their own.
    """

    place: str
    most: int
    needs: str
    documents: bool

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def send(self, batch: Sequence[ToolAnnotation]) -> None:
        """Send all of them; `CallError` with `Outcome.REFUSED` where some cannot be taken."""
        ...


class PostingSink(Sender):
    """Posts JSON to one path of a tool; the key comes from the environment, and is never shown."""

    accepted = frozenset({200, 201, 202, 207})

    def __init__(
        self, server: str, path: str, *, key_env: str, user_env: str | None = None
    ) -> None:
        """Take the key from `key_env`; with `user_env` both must be set, and go together."""
        endpoint = parse_address(server, key_env=key_env)
        user = None if user_env is None else os.environ.get(user_env, "").strip()
        if user_env is not None and not user:
            raise UsageError(
                f"{user_env} is not set, and the user of the key is to come from there"
            )
        endpoint = replace(endpoint, key_needed=user_env is not None)
        super().__init__([endpoint], path, patience=Patience(concurrency=4), user=user)
        self.place = f"{endpoint.url} {user or ''}".strip()

    async def send(self, content: object) -> Any:  # noqa: ANN401 - JSON
        """Post, again where it may help; return what was said, None where it is no JSON."""
        found, _ = await self.post(orjson.dumps(content), _json)
        return found


class OpenedSink:
    """The part of a sink that opens what it posts with, and ends what is to end."""

    def __init__(self, *posts: PostingSink, place: str = "") -> None:
        self.posts, self.place = posts, place or posts[0].place
        self.at_end = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for one in self.posts:
            await self.at_end.enter_async_context(one)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.at_end.aclose()


def as_texts(details: Mapping[str, Any]) -> dict[str, str]:
    """Write details for a tool that keeps texts only; what is no text as JSON."""
    return {
        name: value if isinstance(value, str) else orjson.dumps(value).decode()
        for name, value in details.items()
    }


def _json(content: bytes) -> Any:  # noqa: ANN401
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return None


class RefusedAnswer(NamedTuple):
    """Something that a tool did not take, and why."""

    name: str
    trace: str | None
    span: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SendResult:
    """What became of the answers: `sent` now, there `before`, refused, without a place.

    An answer has several annotations: its confidence, decision, evidence, judgments of passages.
    """

    to: str
    answers: int
    sent: int
    before: int
    unread: int
    unplaced: int
    refused: tuple[RefusedAnswer, ...]
    log: Path

    def lines(self) -> list[str]:
        """Say it in lines."""
        found = [
            f"{self.answers:,} answers to {self.to}: {self.sent:,} annotations sent,"
            f" {self.before:,} were there"
        ]
        if self.unread:
            found.append(f"{self.unread:,} answers could not be read: sent as such, no number")
        if self.unplaced:
            found.append(f"{self.unplaced:,} answers name no trace or span: not sent")
        if self.refused:
            found.append(f"{len(self.refused):,} annotations were refused, for example")
        return found + [
            f"  {one.name} of {one.span or one.trace}: {one.reason}"
            for one in self.refused[:_SHOWN]
        ]

    def __repr__(self) -> str:
        return "\n  ".join(self.lines())


async def send_answers_async(  # noqa: PLR0913 - a verb's settings, by keyword
    answers: object,
    sink: str,
    *,
    columns: Columns | None = None,
    trace: str | None = None,
    span: str | None = None,
    retriever_span: str | None = None,
    server: str | None = None,
    sent: str | Path | None = None,
    again: bool = False,
    on_event: EventListener = silent,
) -> SendResult:
    """Send the confidences of answers to the traces that they came from.

    The table names the trace or the span of each answer. Its confidence is the column that
    `columns` names, or `calibrated` where a calibration was applied; where they are there,
    `decision`, `evidence`, `judgments`, `flaw` and `reason` go along, as does all of that in a
    `novarag` object. No text of a question, passage or answer is sent. An answer that could not be
    read has no number. Nothing is sent twice: what was taken stands in the file `sent`.

    Args:
        answers: An `Answers`, or what `read_answers` takes: a file, the folder of a run, a frame.
        sink: langfuse, mlflow, phoenix, or "package.module:CLASS" of a `Sink` of your own.
        columns: What the table's columns mean.
        trace: Column with the id of the trace; default `trace_id`.
        span: Column with the id of the span that answered; default `span_id`, where there is one.
        retriever_span: Column with the span that retrieved, for judgments of passages.
        server: Where the tool is; default what its own variables in the environment say.
        sent: File of what was taken; default beside the answers, with `.sent` behind their name.
        again: Send all of it again, such as to a server whose data was lost.
        on_event: Hears what was read, and how far it is.
    """
    from novarag.answers.opening.answers import read_answers

    log = _log_of(answers, sent)
    opened = open_sink(sink, server)
    read = read_answers(answers, columns=columns, graded=False)
    on_event(TableRead((*read.taken, *read.notes)))
    places = {"trace": trace, "span": span, "retriever_span": retriever_span}
    source = ", ".join(read.places) or "the table"
    placed = place_answers(read.table, places, needs=opened.needs, source=source)
    found = placed.annotations(needs=opened.needs, documents=opened.documents)
    with SentLog(log, opened.place) as known:
        async with opened:
            work = _SendWork(opened, known, again=again, on_event=on_event)
            await work.all(found)
    return SendResult(
        to=sink,
        answers=placed.table.height,
        unplaced=placed.unplaced(opened.needs),
        log=log,
        sent=work.sent,
        before=work.before,
        unread=work.unread,
        refused=tuple(work.refused),
    )


send_answers = synchronous(send_answers_async)


def open_sink(to: str, server: str | None = None) -> Sink:
    """Make what sends to a tool, by the tool's name or as package.module:CLASS."""
    if to not in SINKS and ":" not in to:
        raise UnknownNameError(to, SINKS)
    found = import_object(SINKS.get(to, to))
    needed = ("most", "needs", "documents", "send", "__aenter__", "__aexit__")
    if not isinstance(found, type) or not all(hasattr(found, name) for name in needed):
        raise UsageError(f"{to!r} is no class with {', '.join(needed)}, as `Sink` has them")
    made: Sink = found(server)
    return made


def _log_of(answers: object, given: str | Path | None) -> Path:
    if given is not None:
        return Path(given)
    if not isinstance(answers, (str, Path)):
        raise UsageError.saying("say in which file to keep what was taken: `sent`")
    place = Path(answers)
    return place.with_name(f"{place.name or place.resolve().name}.sent")


class _SendWork:
    """A send on its way, and what has become of it."""

    def __init__(self, sink: Sink, known: SentLog, *, again: bool, on_event: EventListener) -> None:
        self._sink, self._known, self._again, self._on_event = sink, known, again, on_event
        self.sent = self.before = self.unread = 0
        self.refused: list[RefusedAnswer] = []

    async def all(self, found: Iterable[ToolAnnotation]) -> None:
        """Send what the tool has not taken yet, a batch at a time."""
        left = (one for one in found if self._is_left(one))
        while batch := [self._timed(one) for one in islice(left, self._sink.most)]:
            taken = await self._send(batch)
            self._known.add(taken)
            self.sent += len(taken)
            self._on_event(PartsProgress("annotations", self.sent, self.sent + len(self.refused)))
            if not self.sent and not self.before and len(self.refused) >= _FUTILE:
                reason = self.refused[0].reason
                raise ServiceError(
                    f"none of the first {len(self.refused)} annotations was taken: {reason}",
                    retryable=False,
                )

    def _is_left(self, one: ToolAnnotation) -> bool:
        self.unread += one.unread
        known = self._known.about(one.id) == one.about and not self._again
        self.before += known
        return not known

    def _timed(self, one: ToolAnnotation) -> ToolAnnotation:
        return one if one.at else one._replace(at=self._known.begun)

    async def _send(self, batch: list[ToolAnnotation]) -> list[ToolAnnotation]:
        """Send a batch, and where some are refused its halves; return what was taken."""
        try:
            await self._sink.send(batch)
        except CallError as error:
            if error.outcome is not Outcome.REFUSED:
                raise
            if len(batch) > 1:
                half = len(batch) // 2
                return [*await self._send(batch[:half]), *await self._send(batch[half:])]
            [one] = batch
            self.refused.append(RefusedAnswer(one.name, one.trace, one.span, error.detail))
            return []
        return batch
