"""What a running gateway holds: the settings in force, who may ask, what is counted and kept."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from novarag.gateway.http.access import Authenticator, NotAdmitted, TenantLimits
from novarag.gateway.http.connections import ConnectionRoom
from novarag.gateway.observe.drift import DriftMonitor
from novarag.gateway.observe.sinks import SINKS
from novarag.gateway.observe.tallies import RequestTallies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.gateway.audit.recorder import AuditRecorder
    from novarag.gateway.audit.stored_keys import StoredKeys
    from novarag.gateway.http.served_request import ServedRequest
    from novarag.gateway.observe.telemetry import TelemetryExporter
    from novarag.gateway.settings import GatewaySettings, KeyScope
    from novarag.gateway.snapshot import Snapshot

    Headers = Sequence[tuple[bytes, bytes]]


class Gateway:
    """What is in force now, how much is in flight, and whether new requests are taken.

    `host` is where it listens, if that is not what the settings file says.
    """

    def __init__(self, snapshot: Snapshot, *, host: str | None = None) -> None:
        self.snapshot, self._host = snapshot, host or snapshot.settings.listen.host
        self.stored_keys = _make_stored_keys(snapshot.settings)
        self.authenticator = self._make_authenticator(snapshot)
        self.audit = _make_recorder(snapshot)
        self.telemetry = _make_exporter(snapshot.settings)
        self.limits = TenantLimits()
        self.tallies = RequestTallies()
        self.room = ConnectionRoom(lambda: self.snapshot.settings.limits, self.tallies.turn_away)
        self.drift = DriftMonitor(snapshot)
        self.reloads: Counter[str] = Counter()
        self.in_flight = 0
        self.draining = False

    @property
    def state(self) -> str:
        """Whether requests are taken: ready, draining, or why not yet."""
        if self.draining:
            return "draining"
        return "ready" if self.authenticator.known else "keys could not be read yet"

    async def reload(self, fresh: Snapshot) -> None:
        """Put another snapshot in force; requests that run keep theirs until they end."""
        authenticator = self._make_authenticator(fresh)
        await fresh.open()
        before, self.snapshot, self.authenticator = self.snapshot, fresh, authenticator
        self.drift.follow(fresh)
        if self.stored_keys is not None:
            self.stored_keys.every = fresh.settings.access.reread
            self.stored_keys.read_soon()
        await before.retire()

    def _make_authenticator(self, snapshot: Snapshot) -> Authenticator:
        return Authenticator(snapshot.settings, host=self._host, stored=self.stored_keys)

    def admit(self, headers: Headers, scope: KeyScope) -> str:
        """Return whose request this is, or raise `NotAdmitted`: by key, by load, by rate."""
        tenant = self.authenticator.find_tenant(headers, scope)
        limits = self.snapshot.settings.limits
        if self.in_flight >= limits.in_flight:
            raise NotAdmitted("the gateway is at its limit", 503, "full", after=1.0)
        wait = self.limits.admit(limits.rate, tenant)
        if wait is not None:
            said = "more requests or tokens than a minute may have"
            raise NotAdmitted(said, 429, "rate", after=wait)
        return tenant

    def end(self, served: ServedRequest, status: int, kind: str | None) -> None:
        """Charge a request that ended, and tell all sinks of it; `kind` names what went wrong."""
        if served.usage is not None:
            rate = served.snapshot.settings.limits.rate
            tokens = served.usage.prompt + served.usage.completion
            self.limits.charge(rate, served.tenant, tokens)
        ended = served.describe_end(status, kind)
        for tell in SINKS.values():
            tell(ended)


def _make_recorder(snapshot: Snapshot) -> AuditRecorder | None:
    settings = snapshot.settings.audit
    if settings is None:
        return None
    from novarag.gateway.audit.recorder import AuditRecorder

    return AuditRecorder(settings, folder=snapshot.path.parent)


def _make_stored_keys(settings: GatewaySettings) -> StoredKeys | None:
    if settings.audit is None:
        return None
    from novarag.gateway.audit.stored_keys import StoredKeys

    return StoredKeys(settings.audit.dsn(), every=settings.access.reread)


def _make_exporter(settings: GatewaySettings) -> TelemetryExporter | None:
    if settings.telemetry is None:
        return None
    from novarag.gateway.observe.telemetry import TelemetryExporter

    return TelemetryExporter(settings.telemetry)
