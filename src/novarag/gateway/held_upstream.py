"""Requests that ask the model's server to hold the reply to a form, and what it makes of that.

A server that refuses the form gets the same request without it; the client sees one answer. One
that fails is failing, form or not: the breaker must hear of it once.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.observe.logs import log_event
from novarag.web.form_support import FormSupport, holding_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

    from novarag.gateway.upstream import UpstreamClient, UpstreamReply
    from novarag.records import Completion

FORM = "structured_outputs"
"""The field of a request that carries the form."""

_OTHER = frozenset({401, 402, 403, 404, 408, 409, 429})  # refusals that no form explains


class HeldUpstream:
    """The server of one model, as it is asked for replies of a form."""

    def __init__(self, upstream: UpstreamClient, model: str) -> None:
        self._upstream, self._model = upstream, model

    @property
    def _holding(self) -> FormSupport:
        return holding_at(self._upstream.settings.url, self._model)

    async def post(self, path: str, content: dict[str, Any]) -> UpstreamReply:
        """Post a request, without its form where the server cannot hold a reply to one."""
        held = await self._may_hold(content)
        try:
            reply = await self._upstream.post(path, orjson.dumps(content))
            if held and _is_refusal(reply.status):
                content.pop(FORM)
                reply = await self._upstream.post(path, orjson.dumps(content))
                self._asked_freely(reply.status)
        except BaseException:
            self._give_up(held)
            raise
        return reply

    @asynccontextmanager
    async def stream(
        self, path: str, content: dict[str, Any]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Post the same, and hand out the reply as it comes."""
        held = await self._may_hold(content)
        try:
            if held:
                async with self._upstream.stream(path, orjson.dumps(content)) as response:
                    if not _is_refusal(response.status):
                        yield response
                        return
                content.pop(FORM)
            async with self._upstream.stream(path, orjson.dumps(content)) as response:
                if held:
                    self._asked_freely(response.status)
                yield response
        finally:
            self._give_up(held)  # what was found by now is known

    def heard(self, content: dict[str, Any], completion: Completion) -> None:
        """Take in the reply to a request, which shows whether it was held."""
        if FORM in content and self._holding.can is None:
            self._holding.heard(content[FORM]["regex"], [completion])
            self._log()

    async def _may_hold(self, content: dict[str, Any]) -> bool:
        if FORM not in content:
            return False
        if await self._holding.may_ask():
            return True
        content.pop(FORM)
        return False

    def _give_up(self, held: bool) -> None:
        if held:
            self._holding.gave_up()

    def _asked_freely(self, status: int) -> None:
        """Learn from a request that was refused with its form."""
        if status != 200:
            self._holding.gave_up()  # it is refused without the form, too
            return
        self._holding.found(False)
        self._log()

    def _log(self) -> None:
        if self._holding.can is not None:
            log_event(
                "structured_outputs", upstream=self._upstream.name, model=self._model,
                held=self._holding.can,
            )  # fmt: skip


def _is_refusal(status: int) -> bool:
    return 400 <= status < 500 and status not in _OTHER
