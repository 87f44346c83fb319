"""Whether a server can hold a reply to a form: found by trying, once for each endpoint.

The first request that has a form finds out, and is no extra call. A server that refuses it is asked
freely from then on, and so is one that takes the parameter and heeds it not. The reader reads both.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.calls import CallError, Outcome

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from novarag.calls import AttemptListener, Reply, Sampling
    from novarag.ports import LLM
    from novarag.records import Completion

WAIT = 5.0
"""Seconds that others wait for the first: a server refuses before it writes anything."""

_REFUSAL = frozenset({Outcome.REFUSED})
_PERHAPS = frozenset({Outcome.REFUSED, Outcome.SERVER_ERROR})  # some fail at what they do not know


class FormSupport:
    """What is known of one endpoint: `can` is None until a request has found out.

    Requests that come while the first is under way wait for it, if not for long: they would be
    refused, too.
    """

    def __init__(self, can: bool | None = None) -> None:
        self.can = can
        self._first: _FirstRequest | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return FormSupport, (self.can,)

    @property
    def in_doubt(self) -> frozenset[Outcome]:
        """The outcomes that may be due to the form, so that the same is asked without it."""
        return _REFUSAL if self.can else _PERHAPS

    async def may_ask(self) -> bool:
        """Say whether to ask for the form: always, but where it is known to be in vain."""
        if self.can is None and self._first is None:
            self._first = _FirstRequest()
            return True
        if self.can is None and self._first is not None:
            await self._first.wait()
        return self.can is not False

    def found(self, can: bool) -> None:
        """Keep what a request has found; one refusal of a server that can is a doubt, no finding.

        It may be another server by now, or one form that is too much for it: the next finds out.
        """
        doubtful = self.can is True and not can
        self.can = None if doubtful else can
        self.gave_up()

    def heard(self, form: str, completions: Iterable[Completion]) -> None:
        """Take in replies that were asked to keep a form."""
        if self.can is None:
            self.found(all(_is_held(form, one.text, one.truncated) for one in completions))

    def gave_up(self) -> None:
        """Let the next one find out, where a request ended without an answer to that."""
        first, self._first = self._first, None
        if first is not None:
            first.end()


class _FirstRequest:
    """The request that finds out, and the event loop that it runs in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + WAIT
        self._ended = asyncio.Event()

    async def wait(self) -> None:
        """Wait until it has ended; in another event loop, not at all."""
        if self._loop is asyncio.get_running_loop():
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._until):
                    await self._ended.wait()

    def end(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)


def _is_held(form: str, text: str, truncated: bool) -> bool:
    """Say whether a reply can be one that was held; of one that was cut off, nothing says not."""
    return truncated or not text or re.fullmatch(form, text) is not None


@dataclass(frozen=True, slots=True)
class FormLLM:
    """A model that is asked for replies of a form, and what is known of its server."""

    llm: LLM
    holding: FormSupport

    async def complete(
        self,
        prompt: str,
        sampling: Sampling,
        form: str | None,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Ask for a reply of a form where the server can hold it to one, else freely."""
        if form is None or not await self.holding.may_ask():
            return await self.llm.complete(prompt, sampling, key=key, tell=tell)
        held = replace(sampling, regex=form)
        try:
            reply = await self.llm.complete(prompt, held, key=key, tell=tell)
        except CallError as error:
            if error.outcome not in self.holding.in_doubt:
                self.holding.gave_up()
                raise
        except BaseException:
            self.holding.gave_up()
            raise
        else:
            self.holding.heard(form, reply.completions)
            return reply
        try:
            reply = await self.llm.complete(prompt, sampling, key=key, tell=tell)
        except BaseException:
            self.holding.gave_up()  # it fails without the form, too: nothing is known of the form
            raise
        self.holding.found(False)
        return reply


_KNOWN: dict[Hashable, FormSupport] = {}


def holding_at(*place: Hashable) -> FormSupport:
    """Return what this process knows of a place: the addresses of a model and its name."""
    return _KNOWN.setdefault(place, FormSupport())


def forget_holdings() -> None:
    """Forget what was found, as a process does that ends."""
    _KNOWN.clear()
