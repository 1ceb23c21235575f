"""OpenTelemetry: a span and metrics for each step, for an application that asks for them.

    from acc.telemetry.otel import OpenTelemetry

    memory = MemoryController.open("memory", telemetry=OpenTelemetry())

Spans follow the GenAI semantic conventions for memory (https://github.com/open-telemetry/semantic-conventions-genai, in
development). The package `opentelemetry-semantic-conventions` lacks these names, so they are literals here. What the
conventions have no name for is an attribute ``acc.*``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from acc.compress.fallback import CompressionResult
from acc.errors import extra
from acc.logs import code
from acc.state.policy import Policy
from acc.state.reasons import EVICTIONS, REFUSALS, Reason
from acc.stores.protocol import UNNAMED, Thread
from acc.telemetry.facts import FINE, facts, pinned_share

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Meter, MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from acc.pipeline.turn_pipeline import Step

STEP = "upsert_memory"
"""``gen_ai.operation.name`` and name of a step's span: it makes or changes records, and no caller says which."""

_OPERATIONS = {"store": "create_memory", "recall": "search_memory"}
_OPERATION = "gen_ai.operation.name"
_COUNT = "gen_ai.memory.record.count"
_RECORDS = "gen_ai.memory.records"
_ERROR = "error.type"
_WRITTEN = (Reason.ADDED, Reason.UPDATED)
_USAGE = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
"""Attributes of a compressor's tokens by kind. Cached tokens are part of input, reasoning is part of output."""


class OpenTelemetry:
    """Observes steps with OpenTelemetry. It installs nothing and changes no global provider."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        content: bool = False,
    ) -> None:
        """Make the tracer and the instruments.

        Args:
            tracer_provider: Makes the spans; None uses the application's global one.
            meter_provider: Makes the metrics; None uses the application's global one.
            content: Whether spans hold the user's words, recalled texts, written items and error messages.

        Raises:
            ConfigurationError: The extra ``otel`` is not installed.
        """
        with extra("otel", "OpenTelemetry cannot be imported: {error}", where="OpenTelemetry"):
            from opentelemetry import metrics, trace
        self._tracer = trace.get_tracer("acc", tracer_provider=tracer_provider)
        self._instruments = _Instruments(metrics.get_meter("acc", meter_provider=meter_provider))
        self._content = content

    def begins(self, thread: Thread, policy: Policy) -> _Step:
        """See `acc.telemetry.observer.Observer.begins`. The span is a child of the caller's current span."""
        return _Step(self._tracer, self._instruments, thread, policy, self._content)


class _Instruments:
    """The metrics. Their attributes have few values: reasons, outcomes, kinds of tokens, names of models."""

    def __init__(self, meter: Meter) -> None:
        histogram, counter = meter.create_histogram, meter.create_counter
        self.seconds = histogram("acc.step.duration", "s", "Duration of a step")
        self.state_tokens = histogram("acc.state.tokens", "{token}", "Tokens of the state")
        self.budget_share = histogram(
            "acc.budget.share", "1", "Part of the token budget that the state takes"
        )
        self.pinned_share = histogram(
            "acc.pinned.share", "1", "Part of the bounds that rules and open goals take"
        )
        self.refused = counter("acc.refusals", "{refusal}", "Proposed changes that commit refused")
        self.evicted = counter("acc.evictions", "{item}", "Items evicted to make room")
        self.model_tokens = counter("acc.compression.tokens", "{token}", "Tokens of compressors")
        self.compression = histogram("acc.compression.duration", "s", "Duration of a compression")
        self.failures = counter("acc.compression.failures", "{failure}", "Compressions that failed")


class _Step:
    """The span of a step, and those of its stages. A stage runs in a copy of the caller's context."""

    def __init__(
        self, tracer: Any, instruments: _Instruments, thread: Thread, policy: Policy, content: bool
    ) -> None:
        from time import perf_counter

        from opentelemetry import context, trace

        self._context_api, self._trace = context, trace
        self._tracer, self._instruments = tracer, instruments
        self._policy, self._content = policy, content
        self._clock, self._start = perf_counter, perf_counter()
        self._about = {
            "gen_ai.conversation.id": thread.thread,
            "gen_ai.memory.store.id": thread.owner_key.partition(".")[0],
        }
        if thread.agent != UNNAMED:
            self._about["gen_ai.agent.name"] = thread.agent
        known = {_OPERATION: STEP, "acc.thread.key": thread.key, "acc.tenant": thread.tenant}
        self._span: Span = tracer.start_span(STEP, attributes={**self._about, **known})
        self._context = trace.set_span_in_context(self._span)
        self._stages: dict[str, tuple[Span, Context, Any]] = {}
        self._query = ""

    def stage_begins(self, stage: str) -> None:
        """Begin the stage's span, and make it the current one."""
        operation = _OPERATIONS.get(stage)
        about = {**self._about, _OPERATION: operation} if operation else None
        span = self._tracer.start_span(operation or f"acc.{stage}", self._context, attributes=about)
        inside = self._trace.set_span_in_context(span, self._context_api.get_current())
        self._stages[stage] = span, inside, self._context_api.attach(inside)

    def stage_ends(
        self, stage: str, seconds: float, result: Any, error: BaseException | None
    ) -> None:
        """End the stage's span."""
        span, inside, token = self._stages.pop(stage)
        # Not where another context closes a coroutine.
        if self._context_api.get_current() is inside:
            self._context_api.detach(token)
        if error is not None:
            self._failed(span, error)
        elif stage == "store":
            span.set_attribute(_COUNT, len(result.observations))
            self._query = result.user_words
        elif stage == "recall":
            span.set_attribute(_COUNT, len(result))
            self._with_content(span, "gen_ai.memory.query.text", self._query)
        elif stage == "qualify":
            self._qualified(span, *result)
        elif isinstance(result, CompressionResult):
            self._compressed(span, seconds, result)
        span.end()

    def ends(self, step: Step | None, error: BaseException | None) -> None:
        """End the step's span, and record its metrics."""
        about = {}
        if step is not None:
            self._committed(step)
        elif error is not None:
            self._failed(self._span, error)
            about = {_ERROR: type(error).__name__}
        self._span.end()
        self._instruments.seconds.record(self._clock() - self._start, about)

    def _qualified(self, span: Span, verdicts: Any, evidence: Any) -> None:
        signals = [code(signal) for verdict in verdicts for signal in verdict.telemetry]
        about = {"acc.candidates": len(verdicts), "acc.admitted": len(evidence)}
        span.set_attributes(about | {f"acc.{name}": signals.count(name) for name in {*signals}})
        scores = {verdict.ref: verdict.score for verdict in verdicts}
        told = ({"id": e.ref, "content": e.text, "score": scores.get(e.ref)} for e in evidence)
        self._with_content(span, _RECORDS, told)

    def _compressed(self, span: Span, seconds: float, result: CompressionResult) -> None:
        outcome = code(result.outcome)
        model = {}
        if result.account is not None and result.account.model:
            model = {"gen_ai.request.model": result.account.model}
        usage = {name: result.usage[kind] for kind, name in _USAGE.items() if kind in result.usage}
        calls = [call.value for call in result.account.calls] if result.account is not None else []
        span.set_attributes({"acc.outcome": outcome, "acc.calls": calls, **model, **usage})
        instruments = self._instruments
        instruments.compression.record(seconds, {"acc.outcome": outcome, **model})
        for kind in {"input", "output"} & {*result.usage}:
            instruments.model_tokens.add(result.usage[kind], {"gen_ai.token.type": kind, **model})
        if result.failure or result.outcome not in FINE:
            instruments.failures.add(1, {"acc.outcome": outcome, **model})
        if result.failure:
            span.set_attribute(_ERROR, outcome)
            span.set_status(self._trace.StatusCode.ERROR, result.failure if self._content else None)

    def _committed(self, step: Step) -> None:
        notes, instruments = step.commit.notes, self._instruments
        refused = [note.reason.value for note in notes if note.reason in REFUSALS]
        evicted = [note.reason.value for note in notes if note.reason in EVICTIONS]
        written = [note for note in notes if note.reason in _WRITTEN]
        found, pinned = facts(step, self._policy), pinned_share(step.state, self._policy)
        self._span.set_attributes(
            {
                **{f"acc.{name}": value for name, value in found.items()},
                "acc.pinned.share": pinned,
                "acc.refused.reasons": sorted({*refused}),
                "acc.evicted.reasons": sorted({*evicted}),
                _COUNT: len(written) + len(refused),
            }
        )
        told = ({"id": n.item, "content": n.text, "metadata": {"slot": n.slot}} for n in written)
        self._with_content(self._span, _RECORDS, told)
        instruments.state_tokens.record(found["state.tokens"])
        instruments.budget_share.record(found["budget.share"])
        instruments.pinned_share.record(pinned)
        for reason in refused:
            instruments.refused.add(1, {"acc.reason": reason})
        for reason in evicted:
            instruments.evicted.add(1, {"acc.reason": reason})

    def _failed(self, span: Span, error: BaseException) -> None:
        span.set_attribute(_ERROR, type(error).__name__)
        span.set_status(self._trace.StatusCode.ERROR, str(error) if self._content else None)

    def _with_content(self, span: Span, name: str, value: str | Iterable[dict[str, Any]]) -> None:
        if self._content:
            told = value if isinstance(value, str) else json.dumps([*value], ensure_ascii=False)
            span.set_attribute(name, told)
