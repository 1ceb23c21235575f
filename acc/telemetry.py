"""OpenTelemetry: a span and metrics for each step, for an application that asks for them.

    from acc.telemetry import OpenTelemetry

    memory = MemoryController.open("memory", telemetry=OpenTelemetry())

Spans follow the GenAI semantic conventions for memory (https://github.com/open-telemetry/semantic-conventions-genai, in
development). The package `opentelemetry-semantic-conventions` lacks these names, so they are literals here. What the
conventions have no name for is an attribute ``acc.*``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from time import perf_counter
from typing import Any

from acc.controller.watching import Named, Stage, facts
from acc.errors import CompressionError, extra
from acc.journal.names import ThreadKey
from acc.logs import code
from acc.models.protocol import Completion
from acc.state.policy import Policy
from acc.state.reasons import REFUSED, Reason
from acc.step.result import Step

with extra("otel", "OpenTelemetry cannot be imported: {error}", where="OpenTelemetry"):
    from opentelemetry import context, metrics, trace

STEP = "upsert_memory"
"""``gen_ai.operation.name`` and name of a step's span: it makes or changes records, and no caller says which."""

_OPERATIONS = {"store": "create_memory", "recall": "search_memory"}
_OPERATION = "gen_ai.operation.name"
_COUNT = "gen_ai.memory.record.count"
_ERROR = "error.type"
_USAGE = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
}
"""Attributes of a model's tokens by kind. Cached tokens are part of input."""


class OpenTelemetry:
    """Observes steps with OpenTelemetry. It installs nothing and changes no global provider.

    Args:
        tracer_provider: Makes the spans; None uses the application's global one.
        meter_provider: Makes the metrics; None uses the application's global one.
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer("acc", tracer_provider=tracer_provider)
        self._instruments = _Instruments(metrics.get_meter("acc", meter_provider=meter_provider))

    def begins(self, thread: ThreadKey, policy: Policy) -> _Step:
        """See `acc.controller.watching.Observer.begins`. The span is a child of the caller's current span."""
        return _Step(self._tracer, self._instruments, _about(thread, policy))


def _about(thread: ThreadKey, policy: Policy) -> dict[str, str]:
    """Return the attributes of a thread's spans. The user stands only in digests."""
    owner = ThreadKey("", thread.tenant, thread.user, thread.agent)
    found = {
        "gen_ai.conversation.id": thread.thread,
        "gen_ai.memory.store.id": Named.of(owner, policy).key,
        "acc.thread.key": Named.of(thread, policy).key,
        "gen_ai.agent.name": thread.agent,
        "acc.tenant": thread.tenant,
    }
    return {name: value for name, value in found.items() if value}


class _Instruments:
    """The metrics. Their attributes have few values: reasons, outcomes, kinds of tokens, names of models."""

    def __init__(self, meter: metrics.Meter) -> None:
        histogram, counter = meter.create_histogram, meter.create_counter
        self.seconds = histogram("acc.step.duration", "s", "Duration of a step")
        self.of_step = {
            "state.tokens": histogram("acc.state.tokens", "{token}", "Tokens of the state"),
            "tail.tokens": histogram("acc.tail.tokens", "{token}", "Tokens of the tail"),
            "budget.share": histogram("acc.budget.share", "1", "Part of its bound that it takes"),
            "pinned.share": histogram(
                "acc.pinned.share", "1", "Part of their bounds that rules and goals take"
            ),
        }
        self.refused = counter("acc.refusals", "{refusal}", "Proposed changes that commit refused")
        self.evicted = counter("acc.evictions", "{item}", "Items evicted to make room")
        self.model_tokens = counter("acc.compression.tokens", "{token}", "Tokens of models")
        self.request = histogram("acc.compression.duration", "s", "Duration of a model's request")
        self.failures = counter("acc.compression.failures", "{failure}", "Compressions that failed")


class _Step:
    """The span of a step, and those of its stages. See `acc.controller.watching.StepObserver`."""

    def __init__(
        self, tracer: trace.Tracer, instruments: _Instruments, about: Mapping[str, str]
    ) -> None:
        self._tracer, self._instruments, self._about = tracer, instruments, about
        self._start = perf_counter()
        self._span = tracer.start_span(STEP, attributes={**about, _OPERATION: STEP})
        self._parent = trace.set_span_in_context(self._span)

    def stage_begins(self, stage: Stage) -> None:
        """Begin the stage's span, and make it the current one. Stages do not overlap."""
        operation = _OPERATIONS.get(stage)
        about = {**self._about, _OPERATION: operation} if operation else None
        span = self._tracer.start_span(operation or f"acc.{stage}", self._parent, attributes=about)
        inside = trace.set_span_in_context(span)
        self._stage = span, inside, context.attach(inside)

    def stage_ends(
        self, stage: Stage, seconds: float, result: Any, error: BaseException | None
    ) -> None:
        """End the stage's span."""
        span, inside, token = self._stage
        if context.get_current() is inside:  # not where another context closes a coroutine
            context.detach(token)
        if error is not None:
            self._failed(span, error)
        elif stage in _OPERATIONS and result is not None:
            records = result.observations if stage == "store" else result
            span.set_attribute(_COUNT, len(records))
        elif stage == "qualify" and result is not None:
            evidence, verdicts = result
            span.set_attributes({"acc.candidates": len(verdicts), "acc.admitted": len(evidence)})
        if stage == "compress":
            self._asked(span, seconds, result, error)
        span.end()

    def ends(self, step: Step[Any] | None, error: BaseException | None) -> None:
        """End the step's span, and record its metrics."""
        about = {}
        if step is not None:
            self._committed(step)
        if error is not None:
            self._failed(self._span, error)
            about = {_ERROR: type(error).__name__}
        self._span.end()
        self._instruments.seconds.record(perf_counter() - self._start, about)

    def _asked(self, span: trace.Span, seconds: float, result: Any, error: Any) -> None:
        """Record a request to a model: its tokens, also where it failed, and how long it took."""
        usage: Mapping[str, int] = {}
        about = {"acc.outcome": "ok"}
        if isinstance(result, Completion):
            usage, about["gen_ai.request.model"] = asdict(result.usage), result.model
        elif isinstance(error, CompressionError):
            usage, about["acc.outcome"] = error.usage, code(error.outcome)
        span.set_attributes({**about, **{n: usage.get(k, 0) for k, n in _USAGE.items()}})
        self._instruments.request.record(seconds, about)
        for kind in ("input", "output"):
            if usage.get(kind):
                self._instruments.model_tokens.add(usage[kind], {"gen_ai.token.type": kind})

    def _committed(self, step: Step[Any]) -> None:
        found, instruments, span = facts(step), self._instruments, self._span
        refused = [note.reason.value for note in step.notes if note.reason in REFUSED]
        written = [note for note in step.notes if note.reason in (Reason.ADDED, Reason.UPDATED)]
        span.set_attributes({f"acc.{name}": value for name, value in found.items()})
        span.set_attribute("acc.refused.reasons", sorted({*refused}))
        span.set_attribute(_COUNT, len(written) + len(refused))
        for name, histogram in instruments.of_step.items():
            histogram.record(found[name])
        for reason in refused:
            instruments.refused.add(1, {"acc.reason": reason})
        if found["evicted"]:
            instruments.evicted.add(found["evicted"])
        if step.failure:
            instruments.failures.add(1, {"acc.outcome": found["outcome"]})
        if step.no_room:
            span.set_attribute(_ERROR, "PinnedOverflow")

    def _failed(self, span: trace.Span, error: BaseException) -> None:
        told = code(error.outcome) if isinstance(error, CompressionError) else type(error).__name__
        span.set_attribute(_ERROR, told)
        span.set_status(trace.StatusCode.ERROR)
