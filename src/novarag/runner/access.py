"""Which model is asked, and how it is reached."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

from novarag.calls import GREEDY, SIMULATED, Attempt, is_simulated
from novarag.defaults import ACCESS, ASK, DESK
from novarag.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence
    from contextlib import AbstractAsyncContextManager

    from novarag.calls import AttemptListener, Reply, Sampling
    from novarag.config.asking import EndpointSettings
    from novarag.ports import LLM
    from novarag.records import PassageGroup
    from novarag.web.endpoint import Endpoint
    from novarag.web.form_support import FormSupport
    from novarag.web.sending import Patience

    App = str | Callable[[str, list[str]], object]
    Opens = Callable[[], AbstractAsyncContextManager[LLM]]
    Model = str | Sequence[str] | Endpoint | LLM | Opens


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a model is reached and its shards are run; none of it decides what is asked.

    `concurrency` bounds the requests in flight for each endpoint and worker, `timeout` is in
    seconds, `attempts` counts tries of one request. `driver` is "local" or "ray". The files of a
    run are for their owner alone; `group_readable` lets the owner's group read them too.
    """

    key_env: str | None = None
    concurrency: int = ACCESS.concurrency
    timeout: float = ACCESS.timeout
    attempts: int = ACCESS.attempts
    driver: str = ASK.driver
    ray_address: str | None = None
    retry_failed: bool = False
    group_readable: bool = False

    @property
    def patience(self) -> Patience:
        """How hard a server is asked, in the terms of what sends."""
        from novarag.web.sending import Patience

        return Patience(concurrency=self.concurrency, timeout=self.timeout, attempts=self.attempts)


INTERACTIVE_ACCESS = Access(timeout=DESK.timeout, attempts=DESK.attempts)
"""How a model is reached while somebody waits for one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """A model and how it is reached: what every verb that asks works with.

    `holding` is what is known of whether its server can hold replies to a form; None for what is
    not asked that: functions, applications, simulated respondents, an `LLM` that is not ours.
    """

    name: str
    opens: Opens | None  # None for a simulated respondent, which must know the groups
    replicas: int = 1
    access: Access = field(default_factory=Access)
    endpoints: tuple[Endpoint, ...] = ()
    holding: FormSupport | None = None
    has_check: bool = True  # a model of the caller's that has none is not opened for it

    @property
    def simulated(self) -> bool:
        """Say whether the model is a simulated respondent, which needs no server."""
        return self.opens is None

    def connector(self, groups: Iterable[PassageGroup] = ()) -> Opens:
        """Return what opens the model; it can be sent to another machine, as it holds no key."""
        if self.opens is not None:
            return self.opens
        from novarag.llm.simulated import find_respondent, open_simulated

        found = find_respondent(self.name.removeprefix(SIMULATED)).name
        return partial(open_simulated, found, list(groups))

    async def check(self) -> None:
        """See that the server is there and has the model."""
        if self.opens is None or not self.has_check:
            return
        async with self.opens() as llm:
            check = getattr(llm, "check", None)
            if check is not None:
                await check()


def reach(model: Model, access: Access | None = None) -> ModelAccess:
    """Find out how a model is reached: by its address, or as the object it is.

    >>> reach("simulated:base").simulated
    True
    """
    access = access or Access()
    if isinstance(model, str):
        model = [model]
    if hasattr(model, "complete"):
        llm = cast("LLM", model)
        return ModelAccess(
            name=_name_of(llm), opens=partial(_lend, llm), access=access,
            holding=getattr(llm, "holding", None), has_check=hasattr(llm, "check"),
        )  # fmt: skip
    if isinstance(model, (list, tuple)) and model and all(isinstance(m, str) for m in model):
        return _by_address(model, access)
    if hasattr(model, "url") and hasattr(model, "model"):
        return _by_endpoints([cast("Endpoint", model)], access)
    if callable(model):
        return ModelAccess(name=_name_of(model), opens=model, access=access)
    raise TypeError(
        "model must be 'URL=NAME' (or a list of them, for replicas), 'simulated:NAME', an Endpoint,"
        f" an LLM or a function that opens one, not {type(model).__name__}"
    )


def reach_app(app: App, access: Access | None = None) -> ModelAccess:
    """Find out how an application is reached: by its address, or as the function it is.

    >>> reach_app("http://localhost:8000/ask").name
    'http://localhost:8000/ask'
    """
    from novarag.llm.application import AppLLM, FunctionApp

    access = access or Access()
    if callable(app):
        return reach(FunctionApp(app), access)
    if not isinstance(app, str):
        raise TypeError(
            "app must be the address of an application or a function of (question, passages), not"
            f" {type(app).__name__}"
        )
    opens = partial(AppLLM, app, key_env=access.key_env, patience=access.patience)
    return ModelAccess(name=opens().model, opens=opens, access=access)


def reach_endpoints(endpoints: EndpointSettings, access: Access | None = None) -> ModelAccess:
    """Reach the model that a settings file names; how hard it is asked stands there, too."""
    from dataclasses import replace

    how = replace(
        access or Access(), key_env=endpoints.key_env, concurrency=endpoints.concurrency,
        timeout=endpoints.timeout, attempts=endpoints.attempts,
    )  # fmt: skip
    return reach(endpoints.endpoints, how)


def check_keys(
    *models: ModelAccess | None, encoder: object = None, key_env: str | None = None
) -> None:
    """Refuse a run in which the key of one variable would go to several hosts."""
    from novarag.web.endpoint import refuse_shared_keys

    endpoints = [endpoint for model in models if model is not None for endpoint in model.endpoints]
    if isinstance(encoder, str):
        from novarag.retrieval.remote_encoder import is_address, parse_encoder

        endpoints += [parse_encoder(encoder, key_env=key_env)[1]] if is_address(encoder) else []
    refuse_shared_keys(endpoints)


def _by_address(models: Sequence[str], access: Access) -> ModelAccess:
    from novarag.web.endpoint import parse_endpoint

    if is_simulated(models[0]):
        from novarag.llm.simulated import find_respondent

        find_respondent(models[0].removeprefix(SIMULATED))  # complains about an unknown name
        return ModelAccess(name=models[0], opens=None, replicas=len(models), access=access)
    return _by_endpoints([parse_endpoint(m, key_env=access.key_env) for m in models], access)


def _by_endpoints(endpoints: Sequence[Endpoint], access: Access) -> ModelAccess:
    from novarag.llm.chat import ChatLLM

    known = ChatLLM(endpoints)  # complains now about what would fail later
    return ModelAccess(
        name=endpoints[0].model,
        opens=partial(ChatLLM, endpoints, patience=access.patience),
        replicas=len(endpoints),
        access=access,
        endpoints=tuple(endpoints),
        holding=known.holding,
    )


def _name_of(model: object) -> str:
    """Name a model that was handed in: as it calls itself, else by its type."""
    found = getattr(model, "model", None)
    return found if isinstance(found, str) and found else type(model).__name__


@asynccontextmanager
async def _lend(llm: LLM) -> AsyncIterator[LLM]:
    """Open a model that was handed in; one that is no context manager is open already."""
    async with AsyncExitStack() as stack:
        if hasattr(llm, "__aenter__"):
            llm = await stack.enter_async_context(cast("AbstractAsyncContextManager[LLM]", llm))
        yield llm if hasattr(llm, "check") else _CheckedLLM(llm)  # ours keep their promises


class _CheckedLLM:
    """A model of the caller's, held to the promise of giving as many samples as were asked for."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Ask, and refuse a short reply, and report attempts the model did not report."""
        heard: list[Attempt] = []

        def hear(attempt: Attempt) -> None:
            heard.append(attempt)
            if tell is not None:
                tell(attempt)

        reply = await self._llm.complete(prompt, sampling, key=key, tell=hear)
        if not heard:
            hear(Attempt(id=reply.attempt, endpoint=_name_of(self._llm)))
        if len(reply.completions) != sampling.n:
            problem = f"asked for {sampling.n} samples, got {len(reply.completions)}"
            raise ServiceError(problem, retryable=False)
        return reply
