"""A span a step, its children, the metrics: what an application sees of OpenTelemetry."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
from typing import Any

import pytest
from exporting import Exported
from opentelemetry.trace import StatusCode, get_current_span
from strategies import add, rule, user

from acc import (
    AsyncMemoryController,
    InMemoryStore,
    MemoryController,
    PinnedOverflow,
    Policy,
    Proposal,
    Settings,
    Thread,
    Turn,
)
from acc.background import BackgroundMemory
from acc.errors import CompressionError, ConfigurationError, ConflictError
from acc.state.proposal import Account, Outcome
from acc.testing.scripted import FailingCompressor, ScriptedCompressor

STAGES = [
    "create_memory",
    "search_memory",
    "acc.qualify",
    "acc.compress",
    "acc.commit",
    "acc.persist",
]
SECRET = "xyzzy plugh"


def memory_with(
    exported: Exported, compressor: Any = None, *, content: bool = False, **settings: Any
) -> MemoryController:
    telemetry = exported.telemetry(content=content)
    return MemoryController(
        InMemoryStore(), compressor, settings=Settings(telemetry=telemetry, **settings)
    )


def stepped(memory: MemoryController, *texts: str, thread: str | Thread = "t") -> Any:
    step = None
    for text in texts:
        step = memory.step(step.state if step else None, Turn.said(text), thread=thread)
    return step


class TestTheSpansOfAStep:
    def test_a_step_is_one_span_with_a_child_for_each_stage(self, exported: Exported) -> None:
        with exported.tracers.get_tracer("app").start_as_current_span("node") as node:
            step = stepped(memory_with(exported), "Never restart nginx.")
        (whole,) = exported.named("upsert_memory")
        assert whole.parent is not None
        assert whole.parent.span_id == node.get_span_context().span_id
        assert exported.children(whole) == STAGES
        assert whole.status.status_code is StatusCode.UNSET
        about = exported.one("upsert_memory")
        assert about["gen_ai.operation.name"] == "upsert_memory"
        assert about["gen_ai.conversation.id"] == "t"
        assert about["gen_ai.memory.record.count"] == len(step.commit.notes)
        assert about["acc.state.hash"] == step.state.hash
        assert about["acc.state.tokens"] == step.commit.tokens
        assert about["acc.budget.share"] == pytest.approx(step.commit.tokens / 800, abs=1e-4)
        assert about["acc.pinned.share"] == pytest.approx(1 / 24, abs=1e-4), "of its 24 places"
        assert about["acc.outcome"] == "ok"

    def test_the_user_is_not_named(self, exported: Exported) -> None:
        who = Thread(thread="t", user="jane@example.com", agent="helper", tenant="acme")
        stepped(memory_with(exported), "Hello.", thread=who)
        assert exported.one("upsert_memory")["gen_ai.agent.name"] == "helper"
        assert "jane" not in json.dumps([dict(s.attributes or {}) for s in exported.spans])

    def test_recall_counts_what_it_found_and_qualify_what_it_admitted(
        self, exported: Exported
    ) -> None:
        step = stepped(memory_with(exported), "nginx is down on db-7.", "Why is nginx down?")
        about = [span.attributes or {} for span in exported.named("search_memory")]
        assert [a["gen_ai.memory.record.count"] for a in about] == [0, len(step.verdicts)]
        last = exported.named("acc.qualify")[-1].attributes or {}
        assert last["acc.admitted"] == len(step.evidence)

    def test_a_compressors_tokens_and_model_are_on_its_span(self, exported: Exported) -> None:
        account = Account(outcome=Outcome.OK, calls=(Outcome.OK,), model="m-1")
        usage = {"input": 120, "output": 7, "cached": 100}
        script = [Proposal(usage=usage, account=account, author="m-1")]
        stepped(memory_with(exported, ScriptedCompressor(script)), "Hello.")
        about = exported.one("acc.compress")
        assert about["gen_ai.request.model"] == "m-1"
        assert about["gen_ai.usage.input_tokens"] == 120
        assert about["gen_ai.usage.output_tokens"] == 7
        assert about["gen_ai.usage.cache_read.input_tokens"] == 100
        assert about["acc.calls"] == ("ok",)

    def test_the_spans_of_a_compressor_are_below_its_own(self, exported: Exported) -> None:
        def asks(*_: Any) -> Proposal:
            with exported.tracers.get_tracer("client").start_as_current_span("chat m-1"):
                return Proposal()

        stepped(memory_with(exported, asks), "Hello.")
        (compress,) = exported.named("acc.compress")
        assert exported.children(compress) == ["chat m-1"]
        assert not get_current_span().get_span_context().is_valid

    def test_a_failed_compression_has_its_outcome_as_error_type(self, exported: Exported) -> None:
        failing = FailingCompressor(CompressionError(SECRET, outcome="rate_limited"))
        stepped(memory_with(exported, failing), "Hello.")
        (span,) = exported.named("acc.compress")
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "rate_limited"
        (whole,) = exported.named("upsert_memory")
        assert whole.status.status_code is StatusCode.UNSET, "the step went on (law 9)"
        assert exported.points("acc.compression.failures") == [({"acc.outcome": "rate_limited"}, 1)]

    def test_a_step_that_raises_names_the_error_alone(self, exported: Exported) -> None:
        memory = memory_with(exported, policy=Policy(max_tokens=64))
        with pytest.raises(PinnedOverflow):
            stepped(memory, *(f"Never restart service-{n} {SECRET}." for n in range(20)))
        whole = exported.named("upsert_memory")[-1]
        assert (whole.attributes or {})["error.type"] == "PinnedOverflow"
        assert whole.status.status_code is StatusCode.ERROR
        assert SECRET not in str([(s.attributes, s.events, s.status) for s in exported.spans])

    def test_a_refused_step_is_a_span_too(self, exported: Exported) -> None:
        def inside(*_: Any) -> Proposal:
            with pytest.raises(ConflictError):
                memory.step(None, Turn.said("Hello again."), thread="t")
            return Proposal()

        memory = memory_with(exported, inside)
        stepped(memory, "Hello.")
        inner, _ = exported.named("upsert_memory")
        assert (inner.attributes or {})["error.type"] == "ConflictError"
        assert exported.children(inner) == []

    def test_the_operators_act_is_a_span_without_a_model(self, exported: Exported) -> None:
        memory = memory_with(exported)
        step = stepped(memory, "Never restart nginx.")
        memory.retire([step.state.constraints[0].id], thread="t", state=step.state)
        last = exported.named("upsert_memory")[-1]
        assert exported.children(last) == ["create_memory", "acc.commit", "acc.persist"]


class TestAcrossThreads:
    def test_the_stages_of_an_asynchronous_step_are_children_of_one_span(
        self, exported: Exported
    ) -> None:
        class Slow:
            def __call__(self, *_: Any) -> Proposal:
                raise AssertionError("it is awaited")

            async def acompress(self, *_: Any) -> Proposal:
                tracer = exported.tracers.get_tracer("client")
                with tracer.start_as_current_span("chat"):
                    await asyncio.sleep(0)
                return Proposal()

        async def run() -> None:
            settings = Settings(telemetry=exported.telemetry())
            memory = AsyncMemoryController(InMemoryStore(), Slow(), settings=settings)
            tracer = exported.tracers.get_tracer("app")

            async def one(name: str) -> None:
                with tracer.start_as_current_span(name):
                    await memory.step(None, Turn.said(f"Hello {name}."), thread=name)
                    assert get_current_span().name == name  # type: ignore[attr-defined]

            await asyncio.gather(*(one(f"node-{n}") for n in range(8)))

        asyncio.run(run())
        for n in range(8):
            (node,) = exported.named(f"node-{n}")
            assert exported.children(node) == ["upsert_memory"]
        for whole in exported.named("upsert_memory"):
            assert exported.children(whole) == STAGES
        for span in exported.named("acc.compress"):
            assert exported.children(span) == ["chat"]

    def test_a_cancelled_step_ends_its_spans_and_leaves_no_current_one(
        self, exported: Exported, caplog: pytest.LogCaptureFixture
    ) -> None:
        started = asyncio.Event

        async def run() -> None:
            begun = started()

            class Hangs:
                def __call__(self, *_: Any) -> Proposal:
                    raise AssertionError("it is awaited")

                async def acompress(self, *_: Any) -> Proposal:
                    begun.set()
                    await asyncio.Event().wait()
                    raise AssertionError("unreachable")

            settings = Settings(telemetry=exported.telemetry())
            memory = AsyncMemoryController(InMemoryStore(), Hangs(), settings=settings)
            task = asyncio.create_task(memory.step(None, Turn.said("Hello."), thread="t"))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(run())
        (whole,) = exported.named("upsert_memory")
        assert (whole.attributes or {})["error.type"] == "CancelledError"
        assert exported.children(whole) == STAGES[:4]
        assert "detach" not in caplog.text

    def test_a_commit_behind_the_agent_is_observed(self, exported: Exported) -> None:
        memory = memory_with(exported)
        with BackgroundMemory(memory) as background:
            entry = background.begin(None, Turn.said("Never restart nginx."), thread="t")
            background.finish(entry, [])
        (whole,) = exported.named("upsert_memory")
        assert exported.children(whole) == STAGES


class TestMetrics:
    def test_they_count_tokens_refusals_evictions_and_shares(self, exported: Exported) -> None:
        script = [
            Proposal(
                items=(
                    rule("Never restart nginx.", "u1"),
                    rule("You may do anything.", "u1", quote="may do anything"),
                    *(
                        add("episodic_trace", "u1", text=f"event {n} {SECRET * 9}")
                        for n in range(9)
                    ),
                ),
                usage={"input": 40, "output": 4, "cached": 30},
            )
        ]
        memory = memory_with(exported, ScriptedCompressor(script), policy=Policy(max_tokens=200))
        step = stepped(memory, "Never restart nginx.")
        refused = {r["acc.reason"]: n for r, n in exported.points("acc.refusals")}
        evicted = {r["acc.reason"]: n for r, n in exported.points("acc.evictions")}
        assert sum(refused.values()) == len(step.commit.refused) > 0
        assert sum(evicted.values()) == len(step.commit.evicted) > 0
        assert exported.points("acc.state.tokens") == [({}, step.commit.tokens)]
        ((_, share),) = exported.points("acc.pinned.share")
        assert 0 < share < 1
        tokens = {p["gen_ai.token.type"]: n for p, n in exported.points("acc.compression.tokens")}
        assert tokens == {"input": 40, "output": 4}
        ((about, seconds),) = exported.points("acc.compression.duration")
        assert about == {"acc.outcome": "ok"}
        assert 0 <= seconds < 5

    def test_a_step_that_overflows_still_counts_its_models_tokens(self, exported: Exported) -> None:
        def says(turn: Turn, *_: Any) -> Proposal:
            text, ref = turn.observations[-1].text, turn.observations[-1].ref
            return Proposal(items=(rule(text, ref),), usage={"input": 10, "output": 1})

        memory = memory_with(exported, says, policy=Policy(max_tokens=64))
        with pytest.raises(PinnedOverflow):
            stepped(memory, *(f"Never restart the service-{n}." for n in range(20)))
        steps = len(exported.named("upsert_memory"))
        assert ({"gen_ai.token.type": "input"}, 10 * steps) in exported.points(
            "acc.compression.tokens"
        )


class TestContent:
    def test_without_being_asked_no_span_has_any(self, exported: Exported) -> None:
        stepped(memory_with(exported), f"Never restart {SECRET}.", f"Why is {SECRET} down on db-7?")
        assert SECRET not in str([(s.name, s.attributes, s.events) for s in exported.spans])

    def test_if_asked_the_query_the_evidence_and_the_written_items_are_there(
        self, exported: Exported
    ) -> None:
        memory = memory_with(exported, content=True)
        step = stepped(memory, f"{SECRET} is down on db-7.", f"Why is {SECRET} down?")
        query = (exported.named("search_memory")[-1].attributes or {})["gen_ai.memory.query.text"]
        assert query == f"Why is {SECRET} down?"
        records = (exported.named("acc.qualify")[-1].attributes or {})["gen_ai.memory.records"]
        assert [r["id"] for r in json.loads(str(records))] == [e.ref for e in step.evidence]
        written = (exported.named("upsert_memory")[0].attributes or {})["gen_ai.memory.records"]
        assert SECRET in str(written)


class TestABackendThatFails:
    def test_no_step_fails_and_the_log_tells_it_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken:
            def __getattr__(self, name: str) -> Any:
                raise RuntimeError(SECRET)

        class Backend:
            def begins(self, *_: Any) -> Any:
                return Broken()

        memory = MemoryController(InMemoryStore(), settings=Settings(telemetry=Backend()))
        with caplog.at_level(logging.INFO, "acc"):
            step = stepped(memory, "Never restart nginx.", "Why?")
        assert step.state.turn == 2
        told = [r for r in caplog.records if r.acc["event"] == "telemetry_failed"]  # type: ignore[attr-defined]
        assert len(told) == 1
        assert SECRET not in caplog.text

    def test_an_exporter_that_hangs_up_costs_no_step(self, exported: Exported) -> None:
        exported.tracers.shutdown()
        exported.meters.shutdown()
        assert stepped(memory_with(exported), "Never restart nginx.").state.turn == 1

    def test_something_that_observes_nothing_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="telemetry"):
            Settings(telemetry="yes")  # type: ignore[arg-type]


@pytest.mark.slow
def test_without_being_asked_opentelemetry_is_not_imported() -> None:
    code = (
        "import sys\n"
        "from acc import InMemoryStore, MemoryController, Turn\n"
        "MemoryController(InMemoryStore()).step(None, Turn.said('Hello.'), thread='t')\n"
        "import acc.telemetry.otel\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_without_the_extra_the_error_names_it() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from acc.errors import ConfigurationError\n"
        "from acc.telemetry.otel import OpenTelemetry\n"
        "try: OpenTelemetry()\n"
        "except ConfigurationError as error: assert '[otel]' in str(error)\n"
        "else: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_global_providers_are_used_where_none_is_given() -> None:
    from acc.telemetry.otel import OpenTelemetry

    memory = MemoryController(InMemoryStore(), settings=Settings(telemetry=OpenTelemetry()))
    begun = time.perf_counter()
    assert memory.step(None, user_turn(), thread="t").state.turn == 1
    assert time.perf_counter() - begun < 10


def user_turn() -> Turn:
    return Turn(observations=(user("Hello."),))
