"""How a gateway stands: load, upstreams, decisions, confidence against truth, drift, audit."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from novarag.errors import NovaragError
from novarag.gateway.observe.attention import find_matters
from novarag.version import __version__

if TYPE_CHECKING:
    from novarag.gateway.audit.delivered import FeedbackSummary
    from novarag.gateway.state import Gateway

DAYS = 7  # whose feedback is counted
_SAMPLE = 5.0  # seconds between two counts
_MINUTE = 60.0  # seconds
_WATCHED = 600.0  # seconds after a look in which feedback is counted again every minute
_PATIENCE = 20.0  # seconds for the database

NO_AUDIT = "this gateway keeps no audit, so it knows of no feedback"
NOT_YET = "feedback is being counted: look again in a few seconds"
AWAY = "the database is away: feedback cannot be counted"
NO_FEEDBACK = f"no feedback yet on answers of the last {DAYS} days"


class HourSample(NamedTuple):
    """What had become of requests at a time, since the start."""

    time: float
    ended: int
    failed: int
    turned_away: Counter[str]


class StatusMonitor:
    """What the status page shows, for use in `async with`.

    A task counts requests every few seconds. Feedback it counts at most once a minute, and only
    while somebody looks: a look never waits for the database.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._began = time.time()
        self._samples: deque[tuple[float, int, int]] = deque(maxlen=int(_MINUTE / _SAMPLE) + 1)
        self._hour = deque([HourSample(time.monotonic(), 0, 0, Counter())], maxlen=61)
        self._looked = -_WATCHED
        self._counted_at: float | None = None
        self._as_of: datetime | None = None
        self._delivered: list[FeedbackSummary] | None = None
        self._said = NO_AUDIT if gateway.audit is None else NOT_YET
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # --- the task ---

    async def _run(self) -> None:
        while True:
            now = time.monotonic()
            self._samples.append((now, *self._totals()))
            if now - self._hour[-1].time >= _MINUTE:
                ended, _ = self._totals()
                away = Counter(self._gateway.tallies.turned_away)
                self._hour.append(HourSample(now, ended, self._failed(), away))
            if self._is_due(now):
                self._counted_at = now
                await self._count_feedback()
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SAMPLE):
                    await self._wake.wait()

    def _is_due(self, now: float) -> bool:
        watched = now - self._looked < _WATCHED
        old = self._counted_at is None or now - self._counted_at >= _MINUTE
        return self._gateway.audit is not None and watched and old

    async def _count_feedback(self) -> None:
        import asyncpg

        from novarag.gateway.audit.database import open_connection
        from novarag.gateway.audit.delivered import summarise_feedback

        audit = self._gateway.audit
        if audit is None:
            return
        now = datetime.now(UTC)
        try:
            async with open_connection(audit.settings.dsn(), command=_PATIENCE) as connection:
                found = await summarise_feedback(connection, now - timedelta(days=DAYS))
        except asyncpg.UndefinedTableError:  # the audit has not made its tables yet
            found = []
        except (OSError, NovaragError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self._said = AWAY
            return
        self._delivered, self._as_of = found, now
        self._said = "" if found else NO_FEEDBACK

    def _totals(self) -> tuple[int, int]:
        tallies = self._gateway.tallies
        return sum(tallies.outcomes.values()), sum(tallies.turned_away.values())

    # --- what is shown ---

    def status(self) -> dict[str, Any]:
        """Return everything that the page shows, as values of JSON."""
        self._looked = time.monotonic()
        if self._is_due(self._looked):
            self._wake.set()
        gateway = self._gateway
        status = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": __version__,
            "settings": gateway.snapshot.version,
            "state": gateway.state,
            "up_seconds": round(time.time() - self._began),
            "load": self._load(),
            "upstreams": self._upstreams(),
            "models": self._models(),
            "feedback": self._feedback(),
            "audit": self._audit(),
        }
        return status | {"attention": find_matters(status)}

    def _load(self) -> dict[str, Any]:
        gateway = self._gateway
        ended, away = self._totals()
        now = time.monotonic()
        before = self._samples[0] if self._samples else (now, ended, away)
        seconds = max(now - before[0], 1e-9)
        over = round(min(seconds, _MINUTE))
        return {
            "in_flight": gateway.in_flight,
            "limit": gateway.snapshot.settings.limits.in_flight,
            "seconds": over,
            "per_second": round((ended - before[1]) / seconds, 2) if over else 0.0,
            "turned_away_lately": away - before[2],
            "ended": ended,
            "failed": self._failed(),
            "turned_away": dict(gateway.tallies.turned_away),
            "lately": self._lately(now),
        }

    def _failed(self) -> int:
        outcomes = self._gateway.tallies.outcomes
        return sum(count for one, count in outcomes.items() if one.decision == "failed")

    def _lately(self, now: float) -> dict[str, Any]:
        """Count what became of requests in the last hour."""
        before, tallies = self._hour[0], self._gateway.tallies
        return {
            "seconds": round(now - before.time),
            "ended": sum(tallies.outcomes.values()) - before.ended,
            "failed": self._failed() - before.failed,
            "turned_away": dict(tallies.turned_away - before.turned_away),
        }

    def _upstreams(self) -> list[dict[str, Any]]:
        snapshot = self._gateway.snapshot
        used: dict[str, list[str]] = {}
        for name, model in snapshot.settings.models.items():
            used.setdefault(model.upstream, []).append(name)
        return [
            {
                "name": name,
                "breaker": "open" if reached.breaker.open else "closed",
                "in_flight": reached.in_flight,
                "limit": reached.settings.in_flight,
                "models": used.get(name, []),
            }
            for name, reached in snapshot.upstreams.items()
        ]

    def _models(self) -> list[dict[str, Any]]:
        gateway = self._gateway
        outcomes = gateway.tallies.outcomes
        drifts, silent = gateway.drift.drift_states(), gateway.drift.why_silent()
        found = []
        for name, respondent in gateway.snapshot.respondents.items():
            decisions: Counter[str] = Counter()
            evidence: dict[str, Counter[str]] = {}
            for outcome, count in outcomes.items():
                if outcome.model == name:
                    decisions[outcome.decision] += count
                    if outcome.decision not in {"none", "failed", "left"}:
                        state = outcome.evidence or "no state"
                        evidence.setdefault(state, Counter())[outcome.decision] += count
            drift = drifts.get(name)
            found.append({
                "name": name,
                "mode": str(respondent.settings.mode),
                "calibrated": respondent.calibration is not None,
                "gate": respondent.settings.gate is not None,
                "decisions": dict(decisions),
                "evidence": {state: dict(counts) for state, counts in sorted(evidence.items())},
                "drift": {"state": "not watched", "sentence": silent[name]}
                if drift is None
                else asdict(drift),
            })  # fmt: skip
        return found

    def _feedback(self) -> dict[str, Any]:
        rows = [
            {
                **asdict(one),
                "share": round(one.share, 4),
                "low": round(one.low, 4),
                "high": round(one.high, 4),
                "word": one.word,
            }
            for one in self._delivered or ()
        ]
        as_of = None if self._as_of is None else self._as_of.isoformat(timespec="seconds")
        return {"days": DAYS, "as_of": as_of, "said": self._said, "models": rows}

    def _audit(self) -> dict[str, Any] | None:
        audit = self._gateway.audit
        if audit is None:
            return None
        state = audit.state()
        said = (
            "the spool is full: decisions are not kept" if state.full
            else "the database is connected" if state.connected
            else "the database is away: decisions wait in the spool"
        )  # fmt: skip
        return {**asdict(state), "said": said}
