"""Providers of OpenTelemetry that keep what they export, log lines that are kept, and steps that are observed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from acc.compress.keyless import compress
from acc.controller.watching import watching
from acc.driving import aperform, perform
from acc.gate import Verdict
from acc.journal.names import ThreadKey
from acc.state.policy import Cadence, Policy
from acc.step.result import Step
from acc.step.step import Memory, stepping
from acc.telemetry import OpenTelemetry
from acc.turn.observations import Channel, Evidence, Observation
from acc.turn.turn import Turn


class Exported:
    """What an application with both providers sees."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._reader])

    def telemetry(self) -> OpenTelemetry:
        return OpenTelemetry(self.tracers, self.meters)

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


class Lines(logging.Handler):
    """What the loggers below ``acc`` write."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def of(self, event: str) -> list[dict[str, Any]]:
        """The fields of the lines of one kind."""
        found = [getattr(record, "acc", {}) for record in self.records]
        return [fields for fields in found if fields.get("event") == event]

    def told(self, above: int = logging.DEBUG) -> str:
        """Everything that a formatter could write of the lines above a level."""
        return "\n".join(
            f"{r.getMessage()} {r.__dict__!r} {logging.Formatter().format(r)}"
            for r in self.records
            if r.levelno > above
        )


@contextmanager
def listening() -> Iterator[Lines]:
    """Keep the lines that are written in the block."""
    handler, logger = Lines(), logging.getLogger("acc")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class Watched:
    """A thread whose steps are observed as a controller has them observed, without a journal."""

    def __init__(
        self, observer: Any = None, *, compressor: Any = compress, fallback: Any = None, over: int = 0, **policy: Any
    ) -> None:  # fmt: skip
        self.observer = observer
        self.policy = Policy(cadence=Cadence(compress_over=over), **policy)
        self.memory: Memory[Any] = Memory(compressor, None, fallback, self.policy)
        self.state: Any = self.policy.schema.empty()
        self.tail: Any = ()

    def say(self, *said: str, thread: str | ThreadKey = "t", tools: tuple[str, ...] = ()) -> Any:
        """Take a turn with what the user says and what tools answer."""
        return perform(self._observed(_turn(said, tools), _key(thread)))

    async def asay(self, *said: str, thread: str | ThreadKey = "t") -> Any:
        """Take a turn without blocking the event loop."""
        return await aperform(self._observed(_turn(said, ()), _key(thread)))

    def _observed(self, turn: Turn, key: ThreadKey) -> Any:
        with watching(self.observer, key, self.policy) as watch:
            with watch.stage("recall") as told:
                told.result = [1, 2]
            evidence = (Evidence(ref="u9", channel=Channel.USER, text="recalled words"),)
            verdicts = (Verdict("u9", 0, "admitted"), Verdict("u8", 0, "known"))
            with watch.stage("qualify") as told:
                told.result = evidence, verdicts
            with watch.stage("store") as told:
                told.result = turn
            numbered = turn.numbered(self.state.turn + 1)
            asking = stepping(self.memory, self.state, numbered, texts=self.tail, evidence=evidence)
            step = yield from _asked(asking, watch)
            with watch.stage("persist"):
                pass
            step = replace(step, verdicts=verdicts)
            self.state, self.tail = step.state, step.tail
            watch.ends(step)
        return step


def _asked(asking: Any, watch: Any) -> Any:
    """Drive a step, and tell of its commits and requests."""
    act = lambda: next(asking)  # noqa: E731
    try:
        while True:
            with watch.stage("commit"):
                call = act()
            try:
                with watch.stage("compress") as told:
                    told.result = yield call
            except Exception as error:
                act = lambda error=error: asking.throw(error)  # noqa: E731
            else:
                act = lambda done=told.result: asking.send(done)  # noqa: E731
    except StopIteration as stop:
        step: Step[Any] = stop.value
        return step


def _turn(said: tuple[str, ...], tools: tuple[str, ...]) -> Turn:
    users = [Observation(channel=Channel.USER, text=text) for text in said]
    answers = [Observation(channel=Channel.TOOL, text=text, name="tool") for text in tools]
    return Turn(observations=(*users, *answers))


def _key(thread: str | ThreadKey) -> ThreadKey:
    return thread if isinstance(thread, ThreadKey) else ThreadKey(thread)
