"""A settings file with all that it names, put together once and never changed."""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.calls import CallError
from novarag.errors import NovaragError, UsageError
from novarag.gateway.decisions import Decider, ModelRespondent
from novarag.gateway.http.requests import BadRequest, GivenPassage
from novarag.gateway.settings import read_settings
from novarag.gateway.upstream import UpstreamClient, UpstreamUnavailable
from novarag.retrieval.http import HttpRetriever
from novarag.web.sending import Patience

if TYPE_CHECKING:
    from novarag.gateway.settings import GatewaySettings, SearchSettings
    from novarag.ports import Retriever

_ATTEMPTS = 2  # of a search, before its request fails


class Snapshot:
    """Settings, their version, and the models behind them.

    A request keeps the snapshot that it began with; a reload makes another. Paths in the file are
    relative to it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        before = _read_bytes(self.path)
        self.settings = _resolve_paths(read_settings(self.path), self.path.parent)
        self.version = _hash_settings(self.path, self.settings)
        largest = self.settings.limits.reply
        self.upstreams = {
            name: UpstreamClient(upstream, largest=largest, name=name)
            for name, upstream in self.settings.upstreams.items()
        }
        self.respondents = {name: _make_respondent(name, self) for name in self.settings.models}
        now = (_read_bytes(self.path), _hash_settings(self.path, self.settings))
        if now != (before, self.version):
            raise UsageError(f"{self.path}, or a file that it names, changed while it was read")
        self.decider = Decider(self.respondents)
        self.searches: dict[str, PassageSearch] = {}
        self._stack = AsyncExitStack()
        self.users, self._retired = 0, False

    def find_respondent(self, name: str) -> ModelRespondent:
        """Return the model of a name, or refuse one that the settings do not have."""
        if name not in self.respondents:
            known = ", ".join(self.respondents)
            said = f"there is no model {name!r} here; there is {known}"
            raise BadRequest(said, status=404, param="model")
        return self.respondents[name]

    async def open(self) -> None:
        """Open the connections to all upstreams and searches; all or none."""
        async with AsyncExitStack() as stack:
            for upstream in self.upstreams.values():
                await stack.enter_async_context(upstream)
            for name, search in self.settings.searches.items():
                self.searches[name] = PassageSearch(name, search)
                stack.callback(self.searches[name].close)
            self._stack = stack.pop_all()

    async def leave(self) -> None:
        """Count a request that ended; the last one out of a retired snapshot closes it."""
        self.users -= 1
        await self._close_if_done()

    async def retire(self) -> None:
        """Take no more requests, and close once those that run have ended."""
        self._retired = True
        await self._close_if_done()

    async def _close_if_done(self) -> None:
        if self._retired and self.users == 0:
            await self._stack.aclose()


def _make_respondent(name: str, snapshot: Snapshot) -> ModelRespondent:
    model = snapshot.settings.models[name]
    try:
        return ModelRespondent(name, model, snapshot.upstreams[model.upstream])
    except NovaragError as error:
        raise UsageError.saying("models.{}: {}", name, error.prose) from error


def _resolve_paths(settings: GatewaySettings, folder: Path) -> GatewaySettings:
    models = {
        name: model.model_copy(
            update={
                part: folder / found
                for part in ("calibration", "gate")
                if (found := getattr(model, part)) is not None
            }
        )
        for name, model in settings.models.items()
    }
    return settings.model_copy(update={"models": models})


def _hash_settings(path: Path, settings: GatewaySettings) -> str:
    """Name what is in force: a hash over the file, and every calibration and gate it names."""
    digest = sha256(path.read_bytes())
    for model in settings.models.values():
        for part in (model.calibration, model.gate):
            if part is not None:
                digest.update(sha256(_read_bytes(part)).hexdigest().encode())
    return digest.hexdigest()[:12]


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


class PassageSearch:
    """A search of the settings file; `close` when it is no longer needed."""

    def __init__(self, name: str, settings: SearchSettings) -> None:
        self._name, self._k = name, settings.k
        self._stack = ExitStack()
        self._retriever = _open_retriever(settings, self._stack)

    async def find(self, question: str) -> list[GivenPassage]:
        """Return the passages that the search finds for a question; finding none is no failure."""
        try:
            (found,) = await self._retriever.search([question], k=self._k)
        except CallError as error:
            raise UpstreamUnavailable(
                f"the search {self._name!r} gave no passages ({error.outcome})"
            ) from None
        if not found:
            raise BadRequest("the search found no passages for this question", status=422)
        return [GivenPassage(text=p.text, source=p.source) for p in found if p.text]

    def close(self) -> None:
        """Close an index that was opened."""
        self._stack.close()


def _open_retriever(settings: SearchSettings, stack: ExitStack) -> Retriever:
    if settings.url is not None:
        patience = Patience(timeout=settings.timeout, attempts=_ATTEMPTS)
        return HttpRetriever(settings.url, key_env=settings.key_env, batch=1, patience=patience)
    from novarag.retrieval.milvus import open_index
    from novarag.retrieval.searching import MilvusRetriever

    return MilvusRetriever(stack.enter_context(open_index(str(settings.index))))
