"""One request from its first byte to its last: its settings, its id, and what the audit keeps."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.gateway.audit.rows import RequestContext
from novarag.gateway.http.replies import draw_id
from novarag.gateway.observe.tallies import RequestOutcome, RequestTallies
from novarag.gateway.observe.tracing import LEFT, EndedRequest
from novarag.gateway.upstream import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.calls import Usage
    from novarag.gateway.audit.recorder import AuditRecorder
    from novarag.gateway.audit.rows import AuditRow
    from novarag.gateway.decisions import ModelRespondent, PolicyDecision
    from novarag.gateway.http.connection import Send
    from novarag.gateway.http.requests import ParsedQuestion
    from novarag.gateway.observe.drift import DriftMonitor
    from novarag.gateway.snapshot import Snapshot

TENANT = "default"


@dataclass(slots=True)
class ServedRequest:
    """What a request is served with; its outcome is counted and kept before the client hears of it.

    Where there is an audit, a request that was let in leaves one row, whatever becomes of it; one
    that has no `route` is none that anything is decided about. Counted by outcome are requests
    whose model is known: another is a mistake of the client.
    """

    snapshot: Snapshot
    send: Send
    audit: AuditRecorder | None = None
    tallies: RequestTallies = field(default_factory=RequestTallies)
    tenant: str = TENANT
    id: str = field(default_factory=draw_id)
    asked: ParsedQuestion | None = None
    outcome: RequestOutcome | None = None
    made: PolicyDecision | None = None
    usage: Usage | None = None
    drift: DriftMonitor | None = None
    route: str = ""
    _began: float = field(default_factory=time.perf_counter)
    _model: str | None = None
    _ended: bool = False

    @property
    def seconds(self) -> float:
        """How long the request has taken until now."""
        return time.perf_counter() - self._began

    def find_respondent(self, name: str, *, route: str) -> ModelRespondent:
        """Return the model of a name, which the request is counted under from now on."""
        self.route = route
        found = self.snapshot.find_respondent(name)
        self._model = found.name
        return found

    def keep_decision(self, asked: ParsedQuestion, made: PolicyDecision, *, shown: bool) -> None:
        """Count and keep a decision."""
        answer = made.answer
        self.made, self.usage = made, made.usage
        self._count_outcome(
            str(answer.decision), answer.evidence, answer.action, confidence=answer.confidence
        )
        by = self.snapshot.respondents.get(made.model)
        if self.drift is not None and self._model is not None:
            self.drift.see(self.snapshot.respondents[self._model], made)
        self._keep(lambda context: context.make_decision_row(asked, made, shown=shown, by=by))

    def keep_passed(self, status: int, usage: Usage | None = None) -> None:
        """Count and keep that the request was passed on as it came."""
        self.usage = usage
        self._count_outcome("none")
        self._keep(lambda context: context.make_passed_row(status, usage))

    def keep_failure(self, status: int) -> None:
        """Count and keep that the request got no answer, unless its outcome is kept already.

        Where even that cannot be kept, the client is told of the first failure.
        """
        if not self._ended:
            self._count_outcome("left" if status == LEFT else "failed")
            self._keep_failure(status)

    def keep_refusal(self, status: int) -> None:
        """Count and keep a request that could not be served as it was, by what it was sent."""
        self.tallies.turn_away("bad request")
        if not self._ended:
            self._ended = True
            self._keep_failure(status)

    def describe_end(self, status: int, kind: str | None) -> EndedRequest:
        """Say what became of the request, for the sinks; `kind` names what went wrong."""
        return EndedRequest(
            id=self.id,
            tenant=self.tenant,
            settings=self.snapshot.settings,
            version=self.snapshot.version,
            status=status,
            kind=kind,
            seconds=self.seconds,
            outcome=self.outcome,
            usage=self.usage,
            answer=None if self.made is None else self.made.answer,
        )

    def _count_outcome(
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
        self.outcome = RequestOutcome(
            self._model, self.route, decision, str(evidence or ""), str(action or "")
        )
        self.tallies.count(self.outcome, self.seconds, confidence=confidence)
        if self.usage is not None:
            self.tallies.count_tokens(
                self._model, prompt=self.usage.prompt, reply=self.usage.completion
            )

    def _keep_failure(self, status: int) -> None:
        with suppress(UpstreamUnavailable):
            self._keep(lambda context: context.make_failure_row(status, self.asked))

    def _keep(self, make_row: Callable[[RequestContext], AuditRow]) -> None:
        """Keep the row of the request, where there is an audit and something to decide."""
        if self.audit is None or not self.route:
            return
        context = RequestContext(
            id=self.id,
            tenant=self.tenant,
            route=self.route,
            respondent=self.snapshot.respondents.get(self._model or ""),
            settings=self.snapshot.version,
            began=self._began,
            text_policy=self.audit.text_policy,
        )
        self.audit.record(make_row(context))
