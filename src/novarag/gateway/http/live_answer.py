"""An answer inside a reply that is still coming: shown as soon as its line is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.decisions import PolicyDecision
from novarag.gateway.http.sse import read_event_data
from novarag.gateway.http.usage import read_usage
from novarag.gateway.upstream import UpstreamUnavailable, read_events
from novarag.records import Completion
from novarag.scoring import Exchange
from novarag.scoring.policy import Action, settle
from novarag.strategies import Strategy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

    from novarag.calls import Usage
    from novarag.gateway.decisions import ModelRespondent
    from novarag.gateway.http.requests import ChatRequest, ParsedQuestion

_DRESSING = " \t\r*_`"


class LiveAnswer:
    """One reply as it comes, and what of it may be shown.

    Shown is the line that carries the frame of this request, which no passage can know, and only
    once it is whole. The reader judges the whole reply in the end: where it reads another answer,
    or none, the verdict says so.

    A piece costs what it is long itself, however much came before: a line is looked at once, when
    its end is there, and pieces are put together once, at the end.
    """

    def __init__(
        self, respondent: ModelRespondent, asked: ParsedQuestion, request: ChatRequest
    ) -> None:
        self._respondent, self._asked, self._signals = respondent, asked, request.signals
        self._strategy = respondent.prepare()
        self.body: dict[str, Any] = respondent.body(asked.group, self._strategy, request)
        self.body |= {"stream": True, "stream_options": {"include_usage": True}}
        self._label = (
            None
            if isinstance(self._strategy, Strategy)
            else f"Answer[{self._strategy.frame(asked.group)}]:"
        )
        self._pieces: list[str] = []
        self._unfinished: list[str] = []  # the pieces of the line that has no end yet
        self._truncated = False
        self.shown: str | None = None
        self.usage: Usage | None = None

    def feed(self, piece: str) -> str | None:
        """Take a piece of the reply; return the answer once, when its line is whole."""
        self._pieces.append(piece)
        if self.shown is not None or self._label is None:
            return None
        ended, newline, rest = piece.rpartition("\n")
        if newline:
            lines = "".join([*self._unfinished, ended])
            self._unfinished.clear()
            self.shown = self._answer_among(lines.split("\n"), self._label)
        self._unfinished.append(rest)
        return self.shown

    def _answer_among(self, lines: list[str], label: str) -> str | None:
        for line in lines:
            head, found, said = line.partition(label)
            if found and not head.strip(" \t*_#>-") and said.strip(_DRESSING):
                return self._respondent.upstream.secrets.redact(said.strip(_DRESSING))
        return None

    def cut_off(self) -> None:
        """Say that the model stopped at its limit."""
        self._truncated = True

    def make_decision(self) -> PolicyDecision:
        """Read the whole reply, and decide; what was shown cannot be taken back."""
        secrets, name = self._respondent.upstream.secrets, self._respondent.settings.name
        text = secrets.redact("".join(self._pieces))
        said = Completion(text=text, model=name, truncated=self._truncated)
        self._respondent.held.heard(self.body, said)
        exchange = Exchange(
            group=self._asked.group, completion=said, asking=self._strategy,
            signals=self._signals,
        )  # fmt: skip
        answer = self._respondent.scorer.score(exchange)
        if self.shown is not None and answer.answer not in {None, self.shown}:
            why = "the answer that was shown is not the one that was read"
            answer = settle(answer, Action.ABSTAIN, why)
        return PolicyDecision.by(self._respondent, answer, self.usage)


async def follow_stream(
    response: aiohttp.ClientResponse, live: LiveAnswer, most: int
) -> AsyncIterator[str]:
    """Feed the events of a reply to an answer; yield what may be shown."""
    taken, ended = 0, False
    async for event in read_events(response, most):
        taken += len(event)
        if taken > most:
            raise UpstreamUnavailable(f"the reply is longer than {most:,} bytes")
        data = read_event_data(event)
        if data == b"[DONE]":
            ended = True
        elif data is not None and (shown := _take(live, data)) is not None:
            yield shown
    if not ended:
        raise UpstreamUnavailable("the model's server ended its reply too early")


def _take(live: LiveAnswer, data: bytes) -> str | None:
    try:
        chunk = orjson.loads(data)
        _refuse_errors(chunk)
        live.usage = read_usage(chunk.get("usage")) or live.usage
        if not chunk["choices"]:
            return None
        choice = chunk["choices"][0]
        if choice.get("finish_reason") == "length":
            live.cut_off()
        piece = (choice.get("delta") or {}).get("content") or ""
        return live.feed("" + piece)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        raise UpstreamUnavailable("the model's server sent no proper reply") from None


def _refuse_errors(chunk: Any) -> None:  # noqa: ANN401 - as the server sent it
    if "error" in chunk:
        raise UpstreamUnavailable("the model's server failed while it replied")
