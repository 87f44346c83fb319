"""OpenTelemetry: a span for each request, one for each asking, and the confidence as an event.

It needs the extra `otel`, and is imported only where `[telemetry]` names a receiver. Names are
those of the conventions for generative AI. Attributes hold names of the settings file, words of
this package, ids and numbers: no text of a question, a passage or an answer ever.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from novarag.errors import UsageError
from novarag.gateway.upstream import UpstreamUnavailable
from novarag.imports import with_extra
from novarag.version import __version__

try:
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    raise UsageError(f"[telemetry] needs its extra: {with_extra('otel')}") from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.trace import Span, Tracer

    from novarag.gateway.observe.tracing import EndedRequest
    from novarag.gateway.settings import TelemetrySettings
    from novarag.scoring import Answer

EVENT = "gen_ai.evaluation.result"
NAME = "novarag.confidence"
_CARRIED = ("traceparent", "tracestate")
_LONGEST = 1024  # bytes of a header that carries a trace
_LAST = 5.0  # seconds that an end waits for what is not sent yet
_W3C = TraceContextTextMapPropagator()


class TelemetryExporter:
    """Sends spans and events of one process to an OTLP receiver, in batches, from threads.

    A receiver that is away costs no request anything: what waits is bounded, and dropped.
    """

    def __init__(self, settings: TelemetrySettings) -> None:
        base = settings.otlp.rstrip("/")
        resource = Resource.create(
            {"service.name": settings.service, "service.version": __version__}
        )
        self._spans = TracerProvider(
            resource=resource,
            sampler=ParentBased(TraceIdRatioBased(settings.sample)),
            shutdown_on_exit=False,
        )
        self._spans.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces"))
        )
        self._logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
        self._logs.add_log_record_processor(
            BatchLogRecordProcessor(OTLPLogExporter(endpoint=f"{base}/v1/logs"))
        )
        self._tracer = self._spans.get_tracer("novarag.gateway", __version__)
        self._logger = self._logs.get_logger("novarag.gateway", __version__)

    def begin(self, headers: Sequence[tuple[bytes, bytes]], path: str) -> RequestTrace:
        """Begin the span of a request, inside the trace that the client names."""
        span = self._tracer.start_span(
            f"POST {path}",
            context=_W3C.extract(_read_trace_headers(headers)),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": "POST", "http.route": path},
        )
        return RequestTrace(self._tracer, self._logger, span)

    async def close(self) -> None:
        """Send what is not sent yet, for a few seconds at most."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut() -> None:
            self._spans.shutdown()
            self._logs.shutdown()
            with suppress(RuntimeError):  # the loop is over
                loop.call_soon_threadsafe(done.set)

        Thread(target=shut, daemon=True).start()  # a pool's thread would be waited for at the end
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST):
                await done.wait()


def _read_trace_headers(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers of a trace; two of one name, or very long ones, are none."""
    found: dict[str, str] = {}
    for name in _CARRIED:
        values = [value for key, value in headers if key == name.encode()]
        if len(values) == 1 and len(values[0]) <= _LONGEST:
            found[name] = values[0].decode("latin-1")
    return found


class RequestTrace:
    """One request: its span, the spans of what it asked, and the event of its confidence."""

    def __init__(self, tracer: Tracer, logger: Any, span: Span) -> None:  # noqa: ANN401
        self._tracer, self._logger, self._span = tracer, logger, span
        self._context = set_span_in_context(span)

    @contextmanager
    def upstream(self, name: str) -> Iterator[dict[str, str]]:
        """Watch one asking of an upstream; hand out the headers that carry the trace there."""
        asking = self._tracer.start_span(
            f"chat {name}",
            context=self._context,
            kind=SpanKind.CLIENT,
            attributes={"gen_ai.operation.name": "chat", "novarag.upstream": name},
        )
        carried: dict[str, str] = {}
        _W3C.inject(carried, context=set_span_in_context(asking))
        try:
            yield carried
        except BaseException as error:
            kind = error.kind if isinstance(error, UpstreamUnavailable) else type(error).__name__
            _mark_error(asking, kind)  # its message may hold texts
            raise
        finally:
            asking.end()

    def end(self, ended: EndedRequest) -> None:
        """Tell what became of the request."""
        span, outcome = self._span, ended.outcome
        span.set_attributes(
            _drop_missing({"http.response.status_code": ended.status, **_describe_request(ended)})
        )
        if outcome is not None and outcome.route != "score":
            span.update_name(f"chat {outcome.model}")
            span.set_attribute("gen_ai.operation.name", "chat")
        if ended.kind is not None:
            _mark_error(span, ended.kind)
        if ended.answer is not None:
            self._logger.emit(
                LogRecord(
                    context=self._context,
                    event_name=EVENT,
                    severity_number=SeverityNumber.INFO,
                    attributes=_describe_confidence(ended, ended.answer),
                )
            )
        span.end()


def _mark_error(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _describe_request(ended: EndedRequest) -> dict[str, object]:
    outcome, usage = ended.outcome, ended.usage
    return {
        "gen_ai.provider.name": "novarag",
        "gen_ai.request.model": outcome and outcome.model,
        "gen_ai.response.id": ended.answer and _name_response(ended),
        "gen_ai.usage.input_tokens": usage and usage.prompt,
        "gen_ai.usage.output_tokens": usage and usage.completion,
        "novarag.id": ended.id,
        "novarag.tenant": ended.tenant,
        "novarag.settings": ended.version,
        "novarag.decision": outcome and outcome.decision,
        "novarag.evidence": outcome and (outcome.evidence or None),
        "novarag.action": outcome and (outcome.action or None),
    }


def _describe_confidence(ended: EndedRequest, answer: Answer) -> dict[str, Any]:
    low, high = answer.interval or (None, None)
    facts = {
        "gen_ai.evaluation.name": NAME,
        "gen_ai.evaluation.score.value": answer.confidence,
        "gen_ai.evaluation.score.label": answer.decision,
        "gen_ai.evaluation.explanation": answer.reason,
        "gen_ai.response.id": _name_response(ended),
        "novarag.id": ended.id,
        "novarag.interval.low": low,
        "novarag.interval.high": high,
        "novarag.calibrated": answer.calibrated,
        "novarag.evidence": answer.evidence and str(answer.evidence),
        "novarag.action": str(answer.action),
        "novarag.flaw": answer.flaw and str(answer.flaw),
    }
    return _drop_missing(facts)


def _name_response(ended: EndedRequest) -> str:
    """Return the id that the client sees at its reply."""
    scored = ended.outcome is not None and ended.outcome.route == "score"
    return ended.id if scored else f"chatcmpl-{ended.id}"


def _drop_missing(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}
