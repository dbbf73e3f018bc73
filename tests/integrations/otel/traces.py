"""The spans and metrics that a listener gave to OpenTelemetry's SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext

from tactician.events.bus import EventListener
from tactician.integrations.otel import create_listener


class _Starts(SpanProcessor):
    def __init__(self) -> None:
        self.count = 0

    def on_start(self, span: Span, parent_context: object = None) -> None:
        self.count += 1


class Traces:
    """Providers that keep all in memory, and what they have kept."""

    def __init__(self) -> None:
        self._exporter, self._reader, self._starts = InMemorySpanExporter(), InMemoryMetricReader(), _Starts()
        self.tracers, self.meters = TracerProvider(shutdown_on_exit=False), MeterProvider([self._reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracers.add_span_processor(self._starts)

    def listener(self, *, content: bool = False) -> EventListener:
        return create_listener(content=content, tracer_provider=self.tracers, meter_provider=self.meters)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """Spans that have ended, in the order in which they began."""
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    @property
    def still_open(self) -> int:
        return self._starts.count - len(self._exporter.get_finished_spans())

    @property
    def trace_ids(self) -> set[int]:
        return {identify(span).trace_id for span in self.spans}

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def only(self, name: str) -> ReadableSpan:
        (found,) = self.named(name)
        return found

    def children(self, span: ReadableSpan | None) -> list[ReadableSpan]:
        wanted = None if span is None else identify(span).span_id
        return [one for one in self.spans if (None if one.parent is None else one.parent.span_id) == wanted]

    def tree(self, span: ReadableSpan | None = None) -> list[object]:
        """Return the names of the spans inside one, each followed by the list of those inside it, if there are any."""
        found: list[object] = []
        for child in self.children(span):
            found.append(child.name)
            if inside := self.tree(child):
                found.append(inside)
        return found

    def points(self, metric: str) -> list[NumberDataPoint | HistogramDataPoint]:
        data = self._reader.get_metrics_data()
        scopes = [] if data is None else [scope for one in data.resource_metrics for scope in one.scope_metrics]
        measured = [one for scope in scopes for one in scope.metrics if one.name == metric]
        return [point for one in measured for point in one.data.data_points]  # type: ignore[misc]

    def texts(self) -> str:
        """Return all that was recorded of spans, in one text."""
        return "\n".join(span.to_json() for span in self.spans)


def identify(span: ReadableSpan) -> SpanContext:
    """Return the ids of a span."""
    found = span.get_span_context()
    assert found is not None
    return found


def attributes(span: ReadableSpan) -> Mapping[str, object]:
    return span.attributes or {}
