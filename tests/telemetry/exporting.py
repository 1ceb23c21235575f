"""Providers of OpenTelemetry that keep in memory what they export."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from acc.telemetry.otel import OpenTelemetry


class Exported:
    """What an application with both providers sees."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._reader])

    def telemetry(self, *, content: bool = False) -> OpenTelemetry:
        return OpenTelemetry(self.tracers, self.meters, content=content)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._spans.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> Any:
        """The attributes of the only span with a name."""
        (span,) = self.named(name)
        return span.attributes

    def children(self, parent: ReadableSpan) -> list[str]:
        """The names of the spans right below a span, in the order of their beginning."""
        found = [s for s in self.spans if s.parent and s.parent.span_id == parent.context.span_id]
        return [span.name for span in sorted(found, key=lambda span: span.start_time or 0)]

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """Attributes and sum of each point of a metric."""
        data = self._reader.get_metrics_data()
        return [
            (dict(point.attributes), getattr(point, "sum", getattr(point, "value", None)))
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]
