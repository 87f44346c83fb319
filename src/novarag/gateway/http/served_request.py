"""One request from its first byte to its last: its settings, its id, and what the audit keeps."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from novarag.gateway.http.replies import new_id
from novarag.gateway.observe.tallies import Outcome, Tallies
from novarag.gateway.upstream import Unavailable

if TYPE_CHECKING:
    from novarag.calls import Usage
    from novarag.gateway.audit.recorder import Audit
    from novarag.gateway.decisions import PolicyDecision, Respondent
    from novarag.gateway.http.connection import Send
    from novarag.gateway.http.requests import Asked
    from novarag.gateway.observe.drift import Drift
    from novarag.gateway.snapshot import Snapshot

TENANT = "default"
LEFT = 499  # the status that is kept where the client left


@dataclass(slots=True)
class ServedRequest:
    """What a request is served with; its outcome is counted and kept before the client hears of it.

    Where there is an audit, a request that was let in leaves one row, whatever becomes of it; one
    that has no `route` is none that anything is decided about. Counted by outcome are requests
    whose model is known: another is a mistake of the client.
    """

    snapshot: Snapshot
    send: Send
    audit: Audit | None = None
    tallies: Tallies = field(default_factory=Tallies)
    tenant: str = TENANT
    id: str = field(default_factory=new_id)
    asked: Asked | None = None
    outcome: Outcome | None = None
    made: PolicyDecision | None = None
    usage: Usage | None = None
    drift: Drift | None = None
    route: str = ""
    _began: float = field(default_factory=time.perf_counter)
    _model: str | None = None
    _ended: bool = False

    @property
    def seconds(self) -> float:
        """How long the request has taken until now."""
        return time.perf_counter() - self._began

    def respondent(self, name: str, *, route: str) -> Respondent:
        """Return the model of a name, which the request is counted under from now on."""
        self.route = route
        found = self.snapshot.respondent(name)
        self._model = found.name
        return found

    def decided(self, asked: Asked, made: PolicyDecision, *, shown: bool) -> None:
        """Keep a decision."""
        answer = made.answer
        self.made, self.usage = made, made.usage
        self._end(
            str(answer.decision), answer.evidence, answer.action, confidence=answer.confidence
        )
        by = self.snapshot.respondents.get(made.model)
        if self.drift is not None and self._model is not None:
            self.drift.see(self.snapshot.respondents[self._model], made)
        self._keep("decided", asked, made, shown=shown, by=by)

    def passed(self, status: int, usage: Usage | None = None) -> None:
        """Keep that the request was passed on."""
        self.usage = usage
        self._end("none")
        self._keep("passed", status, usage=usage)

    def failed(self, status: int) -> None:
        """Keep that the request got no answer, unless its outcome is kept already.

        Where even that cannot be kept, the client is told of the first failure.
        """
        if not self._ended:
            self._end("left" if status == LEFT else "failed")
            with suppress(Unavailable):
                self._keep("failed", status, self.asked)

    def refused(self, status: int) -> None:
        """Count and keep a request that could not be served as it was, by what it was sent."""
        self.tallies.turn_away("bad request")
        if not self._ended:
            self._ended = True
            with suppress(Unavailable):
                self._keep("failed", status, self.asked)

    def _end(
        self,
        decision: str,
        evidence: str | None = None,
        action: str | None = None,
        *,
        confidence: float | None = None,
    ) -> None:
        """Count the request, where its model is known."""
        self._ended = True
        if self._model is None:
            return
        self.outcome = Outcome(
            self._model, self.route, decision, str(evidence or ""), str(action or "")
        )
        self.tallies.count(self.outcome, self.seconds, confidence=confidence)
        if self.usage is not None:
            self.tallies.used(self._model, prompt=self.usage.prompt, reply=self.usage.completion)

    def _keep(self, outcome: str, *facts: Any, **more: Any) -> None:  # noqa: ANN401
        if self.audit is None or not self.route:
            return
        requested = self.audit.requested(
            self.snapshot.respondents.get(self._model or ""),
            tenant=self.tenant, route=self.route, settings=self.snapshot.version,
            began=self._began,
        )  # fmt: skip
        getattr(self.audit, outcome)(requested, self.id, *facts, **more)
