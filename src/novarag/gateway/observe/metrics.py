"""Metrics in Prometheus' text format, made of the counts of this process when they are asked for.

Labels are names of the settings file and words of this package, never a client's text.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.registry import Collector

from novarag.calibration.drift import ALARM, QUIET, WARNING
from novarag.gateway.observe.tallies import LEVELS, SECONDS
from novarag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prometheus_client.core import Metric

    from novarag.gateway.audit.recorder import AuditState
    from novarag.gateway.state import Gateway

PREFIX = "novarag_gateway_"
KIND = "text/plain; version=0.0.4; charset=utf-8"
_OUTCOME = ("model", "route", "decision", "evidence", "action")
_LEVELS = tuple((level + 1) / LEVELS for level in range(LEVELS))
_AUDIT = {
    "recorded": ("audit_recorded", "Rows written to the spool."),
    "committed": ("audit_committed", "Rows committed to the database."),
    "lost": ("audit_lost", "Rows that could not be kept because the spool was full."),
    "rejected": ("audit_rejected", "Rows set aside because the database refused them."),
    "damaged": ("audit_damaged", "Places in the spool that could not be read."),
    "waiting": ("audit_waiting_bytes", "Bytes in the spool that wait for the database."),
    "connected": ("audit_connected", "Whether the database is connected (1) or not (0)."),
    "full": ("audit_full", "Whether the spool is full (1) or not (0)."),
}
_DRIFT = (QUIET, WARNING, ALARM)
_NOW = frozenset({"waiting", "connected", "full"})


def render_metrics(gateway: Gateway) -> bytes:
    """Write all metrics of a gateway."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(GatewayCollector(gateway))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class GatewayCollector(Collector):
    """Reads a gateway's counts."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def collect(self) -> Iterable[Metric]:
        """Yield every family."""
        yield from self._requests()
        yield from self._load()
        yield from self._settings()
        yield from self._drift()
        audit = self._gateway.audit
        if audit is not None:
            yield from _collect_audit(audit.state())

    def _requests(self) -> Iterator[Metric]:
        tallies = self._gateway.tallies
        said = "Requests that ended, by what became of them."
        yield _make_counter("requests", said, _OUTCOME, tallies.outcomes.items())
        said = "Requests that were not served, by what stopped them."
        away = [((why.replace(" ", "_"),), count) for why, count in tallies.turned_away.items()]
        yield _make_counter("turned_away", said, ("reason",), away)
        said = "Tokens that the models' servers said they took."
        yield _make_counter("tokens", said, ("model", "kind"), tallies.tokens.items())
        said = "Seconds from the first byte of a request to its outcome."
        yield _make_histogram(
            "request_duration_seconds", said, SECONDS, tallies.seconds, tallies.seconds_sum
        )
        said = "Confidence of answers, calibrated where the model has a calibration."
        levels = {model: [*counts, 0] for model, counts in tallies.confidences.items()}
        yield _make_histogram("confidence", said, _LEVELS, levels, tallies.confidences_sum)

    def _load(self) -> Iterator[Metric]:
        gateway = self._gateway
        yield _make_gauge("in_flight", "Requests that run now.", gateway.in_flight)
        yield _make_gauge("connections", "Connections that are open now.", len(gateway.room))
        yield _make_gauge("draining", "Whether it is ending (1) or not (0).", gateway.draining)
        upstreams = gateway.snapshot.upstreams.values()
        busy = GaugeMetricFamily(
            f"{PREFIX}upstream_in_flight", "Requests that an upstream has now.", labels=["upstream"]
        )
        broken = GaugeMetricFamily(
            f"{PREFIX}upstream_breaker_open",
            "Whether requests are kept away from an upstream (1) or not (0).",
            labels=["upstream"],
        )
        for upstream in upstreams:
            busy.add_metric([upstream.name], upstream.in_flight)
            broken.add_metric([upstream.name], upstream.breaker.open)
        yield from (busy, broken)

    def _drift(self) -> Iterator[Metric]:
        states = self._gateway.drift.drift_states()
        for name, said, value in (
            ("state", "Drift from the calibration's own data: 0 quiet, 1 warning, 2 alarm.",
             lambda one: _DRIFT.index(one.state)),
            ("evidence", "What a stake of 1 against no drift has become; 200 is an alarm.",
             lambda one: one.evidence),
            ("answers", "Answers seen with the calibration in force.", lambda one: one.answers),
        ):  # fmt: skip
            family = GaugeMetricFamily(f"{PREFIX}drift_{name}", said, labels=["model"])
            for model, state in states.items():
                family.add_metric([model], value(state))
            yield family

    def _settings(self) -> Iterator[Metric]:
        gateway = self._gateway
        about = {"version": __version__}
        yield InfoMetricFamily(f"{PREFIX}build", "The package that runs.", value=about)
        about = {"version": gateway.snapshot.version}
        yield InfoMetricFamily(f"{PREFIX}settings", "The settings in force.", value=about)
        said = "Reloads of the settings, by whether they were taken."
        reloads = [((outcome,), count) for outcome, count in gateway.reloads.items()]
        yield _make_counter("reloads", said, ("outcome",), reloads)
        keys = GaugeMetricFamily(
            f"{PREFIX}keys", "Keys of clients, by where they stand.", labels=["source"]
        )
        keys.add_metric(["file"], len(gateway.authenticator.listed))
        if gateway.stored_keys is not None:
            keys.add_metric(["database"], len(gateway.stored_keys.ring))
            said = "When the database's keys were read last; 0 where they never were."
            read_at = gateway.stored_keys.read_at or 0.0
            yield _make_gauge("keys_read_timestamp_seconds", said, read_at)
        yield keys


def _collect_audit(state: AuditState) -> Iterator[Metric]:
    for field in fields(state):
        name, said = _AUDIT[field.name]
        value = float(getattr(state, field.name))
        if field.name in _NOW:
            yield _make_gauge(name, said, value)
        else:
            yield CounterMetricFamily(f"{PREFIX}{name}", said, value=value)


def _make_gauge(name: str, said: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}{name}", said, value=value)


def _make_counter(
    name: str,
    said: str,
    labels: Sequence[str],
    counts: Iterable[tuple[Sequence[str], int]],
) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}{name}", said, labels=labels)
    for values, count in counts:
        family.add_metric(values, count)
    return family


def _make_histogram(
    name: str,
    said: str,
    edges: Sequence[float],
    counts: dict[str, list[int]],
    sums: dict[str, float],
) -> Metric:
    """Write classes, one for each upper edge and one beyond, as Prometheus adds them up."""
    family = HistogramMetricFamily(f"{PREFIX}{name}", said, labels=["model"])
    names = [*(f"{edge:g}" for edge in edges), "+Inf"]
    for model, classes in counts.items():
        buckets = [(edge, float(n)) for edge, n in zip(names, accumulate(classes), strict=True)]
        family.add_metric([model], buckets, sum_value=sums[model])
    return family
