"""Any OpenAI-compatible server, or several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from novarag.calls import GREEDY, CallError, Outcome, Reply
from novarag.errors import UsageError
from novarag.llm.wire import model_names, read_reply, reply_limit, request_body, without_keys
from novarag.texts import plain_text
from novarag.web.endpoint import Endpoint
from novarag.web.form_support import holding_at
from novarag.web.redaction import REMARK
from novarag.web.sending import Patience, Sender

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from novarag.calls import AttemptListener, Sampling
    from novarag.web.dispatcher import Dispatcher
    from novarag.web.form_support import FormSupport


class ChatLLM:
    """A model behind one or several OpenAI-compatible endpoints, for use in `async with`.

    Each request goes to the least loaded endpoint. Rate limits, timeouts and lost connections are
    tried again, with growing pauses; what the server refuses is not.
    """

    def __init__(
        self,
        endpoints: Endpoint | Sequence[Endpoint],
        *,
        patience: Patience | None = None,
        seed: int = 0,
    ) -> None:
        endpoints = [endpoints] if isinstance(endpoints, Endpoint) else endpoints
        if not all(isinstance(endpoint, Endpoint) for endpoint in endpoints):
            raise TypeError("endpoints must be Endpoint(url=..., model=...), one or several")
        if len({e.model for e in endpoints}) > 1:
            names = ", ".join(sorted({e.model for e in endpoints}))
            raise UsageError(f"all endpoints must serve one model; these serve {names}")
        self._sender = Sender(endpoints, "/chat/completions", patience=patience, seed=seed)
        self._endpoints, self._model = tuple(endpoints), endpoints[0].model

    @property
    def patience(self) -> Patience:
        """How long it waits, and how often it tries again."""
        return self._sender.patience

    @property
    def holding(self) -> FormSupport:
        """What this process knows of whether the endpoints can hold replies to a form."""
        return holding_at(*(endpoint.url for endpoint in self._endpoints), self._model)

    @property
    def dispatcher(self) -> Dispatcher:
        """Who may send now, and where."""
        return self._sender.dispatcher

    async def __aenter__(self) -> Self:
        await self._sender.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._sender.__aexit__(kind, error, trace)

    async def check(self) -> None:
        """Ask every endpoint what it serves, so that a wrong address or key shows at once."""
        for endpoint in self._endpoints:
            status, content = await self._sender.get(endpoint, "/models")
            if status in {401, 402, 403}:
                needs = f"is the key in {endpoint.variable} right?"
                raise CallError(Outcome.DENIED, f"{endpoint.url} says HTTP {status}; {needs}")
            served = model_names(content) if status == 200 else []
            if served and endpoint.model not in served:
                named = map(self._sender.secrets.redact, served[:5])
                shown = ", ".join(plain_text(name, longest=60) for name in named)
                raise UsageError(f"{endpoint.url} serves {shown}, not {endpoint.model}")

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Ask until there is an answer, or no hope of one."""

        def read(content: bytes) -> Reply:
            completions, usage = read_reply(content, sampling, self._model)
            clean = tuple(without_keys(c, self._sender.secrets) for c in completions)
            remarks = () if clean == completions else (REMARK,)
            return Reply(completions=clean, usage=usage, remarks=remarks)

        body, most = request_body(self._model, prompt, sampling), reply_limit(sampling)
        reply, attempt = await self._sender.post(body, read, key=key, tell=tell, most=most)
        return replace(reply, attempt=attempt)
