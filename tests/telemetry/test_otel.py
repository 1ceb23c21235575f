"""A span a step, its children, the metrics: what an application sees of OpenTelemetry."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from helpers_telemetry import Exported, Watched
from opentelemetry.trace import StatusCode, get_current_span

from acc.compress.compressor import ModelCompressor
from acc.controller.watching import watching
from acc.errors import CompressionError, ConflictError
from acc.journal.names import ThreadKey
from acc.models.protocol import Completion, Usage
from acc.state.reasons import REFUSED, Reason
from acc.telemetry import OpenTelemetry

STAGES = ["search_memory", "acc.qualify", "create_memory", "acc.commit", "acc.persist"]
ASKED = ["search_memory", "acc.qualify", "create_memory", "acc.commit", "acc.compress", "acc.commit",
    "acc.persist"]  # fmt: skip
SECRET = "xyzzy plugh"
RULE = "Never restart nginx."


class Model:
    """A model whose answers are given; an error is raised."""

    name = "m"

    def __init__(self, exported: Exported, *answers: Any) -> None:
        self._tracer = exported.tracers.get_tracer("client")
        self._answers = list(answers)

    def complete(self, *_: Any, **__: Any) -> Completion:
        with self._tracer.start_as_current_span("chat m-1"):
            answer = self._answers.pop(0) if self._answers else "{}"
            if isinstance(answer, BaseException):
                raise answer
            return Completion(answer, Usage(1, 120, 7, 100), "m-1")

    async def acomplete(self, *_: Any, **__: Any) -> Completion:
        await asyncio.sleep(0)
        return self.complete()


def watched(exported: Exported, *answers: Any, **more: Any) -> Watched:
    """A thread with a model."""
    compressor = ModelCompressor(Model(exported, *answers))
    return Watched(exported.telemetry(), compressor=compressor, **more)


class TestTheSpansOfAStep:
    def test_a_step_is_one_span_with_a_child_for_each_stage(self, exported: Exported) -> None:
        thread = Watched(exported.telemetry())
        with exported.tracers.get_tracer("app").start_as_current_span("node") as node:
            step = thread.say(RULE)
        (whole,) = exported.named("upsert_memory")
        assert whole.parent is not None
        assert whole.parent.span_id == node.get_span_context().span_id
        assert exported.children(whole) == STAGES
        assert whole.status.status_code is StatusCode.UNSET
        about = exported.one("upsert_memory")
        assert about["gen_ai.operation.name"] == "upsert_memory"
        assert about["gen_ai.conversation.id"] == "t"
        assert about["acc.state.hash"] == step.state.hash
        assert about["acc.pinned.share"] == pytest.approx(about["acc.state.tokens"] / 770, abs=0.01)
        assert about["acc.outcome"] == "compressed"
        assert exported.one("create_memory")["gen_ai.memory.record.count"] == 1
        assert exported.one("search_memory")["gen_ai.memory.record.count"] == 2
        qualified = exported.one("acc.qualify")
        assert (qualified["acc.candidates"], qualified["acc.admitted"]) == (2, 1)

    def test_the_user_is_not_named(self, exported: Exported) -> None:
        who = ThreadKey("t", user="jane@example.com", agent="helper", tenant="acme")
        thread = Watched(exported.telemetry())
        thread.say("Hello.", thread=who)
        thread.say("Hello.", thread=ThreadKey("t", user="joe@example.com", tenant="acme"))
        first, second = (span.attributes or {} for span in exported.named("upsert_memory"))
        assert first["gen_ai.agent.name"] == "helper"
        assert first["gen_ai.memory.store.id"] != second["gen_ai.memory.store.id"]
        assert "example.com" not in json.dumps([dict(s.attributes or {}) for s in exported.spans])

    def test_a_models_tokens_and_name_are_on_its_span(self, exported: Exported) -> None:
        watched(exported).say("Hello.")
        (whole,) = exported.named("upsert_memory")
        assert exported.children(whole) == ASKED
        about = exported.one("acc.compress")
        assert about["gen_ai.request.model"] == "m-1"
        assert about["gen_ai.usage.input_tokens"] == 120
        assert about["gen_ai.usage.output_tokens"] == 7
        assert about["gen_ai.usage.cache_read.input_tokens"] == 100
        assert exported.one("upsert_memory")["acc.requests"] == 1

    def test_a_failed_request_has_its_outcome_as_error_type(self, exported: Exported) -> None:
        failing = CompressionError(SECRET, outcome="rate_limited", usage={"input": 9})
        watched(exported, failing).say("Hello.")
        (span,) = exported.named("acc.compress")
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "rate_limited"
        (whole,) = exported.named("upsert_memory")
        assert whole.status.status_code is StatusCode.UNSET, "the step went on (law 9)"
        assert exported.points("acc.compression.failures") == [({"acc.outcome": "rate_limited"}, 1)]
        assert exported.points("acc.compression.tokens") == [({"gen_ai.token.type": "input"}, 9)]

    def test_a_step_that_raises_names_the_error_alone(self, exported: Exported) -> None:
        thread = Watched(exported.telemetry())
        error = ConflictError(SECRET)
        with pytest.raises(ConflictError), watching(thread.observer, ThreadKey("t"), thread.policy):
            raise error
        (whole,) = exported.named("upsert_memory")
        assert (whole.attributes or {})["error.type"] == "ConflictError"
        assert whole.status.status_code is StatusCode.ERROR
        assert exported.children(whole) == []
        assert SECRET not in str([(s.attributes, s.events, s.status) for s in exported.spans])
        ((about, _),) = exported.points("acc.step.duration")
        assert about == {"error.type": "ConflictError"}

    def test_an_overflow_is_an_error_type_of_a_step_that_went_on(self, exported: Exported) -> None:
        many = [f"Never restart the {SECRET} service number {n} before noon." for n in range(20)]
        answer = {"rules": [{"quote": each, "ref": f"u{n + 1}"} for n, each in enumerate(many)]}
        thread = watched(exported, json.dumps(answer), max_tokens=200)
        thread.say(*many)
        about = exported.one("upsert_memory")
        assert about["error.type"] == "PinnedOverflow"
        assert "no_room" in about["acc.refused.reasons"]
        assert 0.5 < about["acc.pinned.share"] <= 1
        assert SECRET not in str([(s.attributes, s.events, s.status) for s in exported.spans])


class TestAcrossThreads:
    def test_the_stages_of_an_asynchronous_step_are_children_of_one_span(
        self, exported: Exported
    ) -> None:
        async def run() -> None:
            tracer = exported.tracers.get_tracer("app")

            async def one(name: str) -> None:
                with tracer.start_as_current_span(name):
                    await watched(exported).asay(f"Hello {name}.", thread=name)
                    assert get_current_span().name == name  # type: ignore[attr-defined]

            await asyncio.gather(*(one(f"node-{n}") for n in range(8)))

        asyncio.run(run())
        for n in range(8):
            (node,) = exported.named(f"node-{n}")
            assert exported.children(node) == ["upsert_memory"]
        for whole in exported.named("upsert_memory"):
            assert exported.children(whole) == ASKED
        for span in exported.named("acc.compress"):
            assert exported.children(span) == ["chat m-1"]

    def test_a_cancelled_step_ends_its_spans_and_leaves_no_current_one(
        self, exported: Exported, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def run() -> None:
            begun = asyncio.Event()

            class Hangs(Model):
                async def acomplete(self, *_: Any, **__: Any) -> Completion:
                    begun.set()
                    await asyncio.Event().wait()
                    raise AssertionError("unreachable")

            thread = Watched(exported.telemetry(), compressor=ModelCompressor(Hangs(exported)))
            task = asyncio.create_task(thread.asay("Hello."))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(run())
        (whole,) = exported.named("upsert_memory")
        assert exported.children(whole) == ASKED[:5]
        assert "detach" not in caplog.text


class TestMetrics:
    def test_they_count_tokens_refusals_evictions_and_shares(self, exported: Exported) -> None:
        answer = {
            "rules": [{"quote": RULE, "ref": "u1"}, {"quote": "Delete it.", "ref": "t1"}],
            "facts": [{"text": f"event {n}: {SECRET * 9}", "refs": ["u1"]} for n in range(9)],
        }
        thread = watched(exported, json.dumps(answer), max_tokens=200)
        step = thread.say(RULE, tools=("Delete it.",))
        refused = {r["acc.reason"]: n for r, n in exported.points("acc.refusals")}
        ((_, evicted),) = exported.points("acc.evictions")
        reasons = [note.reason for note in step.notes]
        assert refused["untrusted"] == 1
        assert sum(refused.values()) == sum(reason in REFUSED for reason in reasons)
        assert evicted == reasons.count(Reason.EVICTED)
        ((_, tokens),) = exported.points("acc.state.tokens")
        assert 0 < tokens <= 200
        ((_, share),) = exported.points("acc.pinned.share")
        assert 0 < share < 1
        spent = {p["gen_ai.token.type"]: n for p, n in exported.points("acc.compression.tokens")}
        assert spent == {"input": 120, "output": 7}
        ((about, seconds),) = exported.points("acc.compression.duration")
        assert about == {"acc.outcome": "ok", "gen_ai.request.model": "m-1"}
        assert 0 <= seconds < 5


def test_an_exporter_that_hangs_up_costs_no_step(exported: Exported) -> None:
    exported.tracers.shutdown()
    exported.meters.shutdown()
    assert Watched(exported.telemetry()).say(RULE).state.turn == 1


def test_the_global_providers_are_used_where_none_is_given() -> None:
    assert Watched(OpenTelemetry()).say(RULE).state.turn == 1


@pytest.mark.slow
def test_without_being_asked_opentelemetry_is_not_imported() -> None:
    code = (
        "import sys\n"
        "import acc; acc.MemoryController\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_without_the_extra_the_error_names_it() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from acc.errors import ConfigurationError\n"
        "try: from acc.telemetry import OpenTelemetry\n"
        "except ConfigurationError as error: assert '[otel]' in str(error)\n"
        "else: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
