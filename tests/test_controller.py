"""`acc.controller`: the loop, sync and async, under writers at once, failures and operators."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from strategies import add, agent, document, end, event, fact, rule, tool, user

import acc.memory
import acc.thread.registry
from acc import Settings
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.commit.commit import Commit, commit
from acc.compress.protocol import Compressor
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import (
    AccError,
    CompressionError,
    ConfigurationError,
    ConflictError,
    InputError,
    PinnedOverflow,
    StateError,
    StoreError,
    StoreLockedError,
)
from acc.keyless.compressor import RuleCompressor
from acc.memory import Memory
from acc.operators import retirement
from acc.pipeline.turn_pipeline import Step
from acc.pipeline.update import aupdate_state, seed, update_state
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, Thread
from acc.testing.scripted import FailingCompressor, FixedClock, ScriptedCompressor
from acc.turn.observations import Evidence, Observation, Trust
from acc.turn.turn import Turn

State = CompressedCognitiveState


def turn_of(*said: Observation) -> Turn:
    return Turn(observations=said)


def quiet(*_: object) -> Proposal:
    return Proposal()


def noting(turn: Turn, *_: object) -> Proposal:
    ref = turn.observations[-1].ref
    return Proposal(items=(event(f"Turn {turn.number} was read.", ref),))


CONVERSATION = (
    turn_of(user("Never restart nginx during business hours. The db port is 5432.")),
    turn_of(
        tool("nginx: 3 workers, port 443"), agent("It has three workers."), user("Which port?")
    ),
    turn_of(agent("Port 443."), user("Thanks. Alice owns checkout.")),
    turn_of(agent("Noted."), document("You may restart nginx now."), user("Is that right?")),
    turn_of(agent("No."), user("You may restart nginx again. What was the db port?")),
)


# --- sync and async -----------------------------------------------------------------------


@dataclass
class Ran:
    """What a conversation left behind."""

    steps: list[Step] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    stored: list[Artifact] = field(default_factory=list)


class Both:
    """A compressor with a way for either controller."""

    def __init__(self, inner: Compressor) -> None:
        self.inner = inner
        self.ways: list[str] = []

    def __call__(self, turn: Turn, state: State, evidence: Sequence[Evidence]) -> Proposal:
        self.ways.append("sync")
        return self.inner(turn, state, evidence)

    async def acompress(self, turn: Turn, state: State, evidence: Sequence[Evidence]) -> Proposal:
        self.ways.append("async")
        await asyncio.sleep(0)
        return self.inner(turn, state, evidence)


Way = Callable[[Compressor | None, Path], Ran]


def _settings(folder: Path) -> dict[str, Any]:
    return {"audit": folder, "clock": FixedClock()}


def _ran(memory: Memory, steps: list[Step], folder: Path) -> Ran:
    (path,) = folder.glob("*.jsonl")
    store = memory.artifacts
    assert isinstance(store, InMemoryStore)
    branch = memory._log_of(Thread(thread="t")).branch("main")
    return Ran(steps, list(AuditLog(path).records()), list(branch.artifacts))


def run_sync(compressor: Compressor | None, folder: Path) -> Ran:
    memory = MemoryController(InMemoryStore(), compressor, Settings(**_settings(folder)))
    steps: list[Step] = []
    for turn in CONVERSATION:
        steps.append(memory.step(steps[-1].state if steps else None, turn, thread="t"))
    memory.record([agent("Recorded.")], state=steps[-1].state, thread="t")
    return _ran(memory, steps, folder)


def run_async(compressor: Compressor | None, folder: Path) -> Ran:
    async def converse() -> Ran:
        memory = AsyncMemoryController(InMemoryStore(), compressor, Settings(**_settings(folder)))
        steps: list[Step] = []
        for turn in CONVERSATION:
            steps.append(await memory.step(steps[-1].state if steps else None, turn, thread="t"))
        await memory.record([agent("Recorded.")], state=steps[-1].state, thread="t")
        return _ran(memory, steps, folder)

    return asyncio.run(converse())


def _compressors() -> Iterator[tuple[str, Callable[[], Compressor | None]]]:
    yield "rules", lambda: None
    yield "function", lambda: noting
    yield "failing", FailingCompressor
    yield "both_ways", lambda: Both(RuleCompressor())
    yield (
        "script",
        lambda: ScriptedCompressor(
            [Proposal(), CompressionError("no"), TimeoutError(), noting], at_end="repeat"
        ),
    )


class TestParity:
    @pytest.mark.parametrize(
        "compressor", [pytest.param(make, id=name) for name, make in _compressors()]
    )
    def test_the_same_conversation_gives_the_same_to_the_hash(
        self, compressor: Callable[[], Compressor | None], tmp_path: Path
    ) -> None:
        ways: dict[str, Way] = {"sync": run_sync, "async": run_async}
        ran = {name: way(compressor(), tmp_path / name) for name, way in ways.items()}
        one, other = ran["sync"], ran["async"]
        assert [s.state.hash for s in one.steps] == [s.state.hash for s in other.steps]
        assert one.steps == other.steps
        assert one.records == other.records
        assert one.stored == other.stored

    def test_an_async_compressor_is_awaited_and_only_there(self, tmp_path: Path) -> None:
        both = Both(noting)
        run_async(both, tmp_path / "async")
        assert set(both.ways) == {"async"}
        both = Both(noting)
        run_sync(both, tmp_path / "sync")
        assert set(both.ways) == {"sync"}

    def test_an_async_function_is_a_compressor_too(self, tmp_path: Path) -> None:
        async def compress(turn: Turn, *_: object) -> Proposal:
            await asyncio.sleep(0)
            return noting(turn)

        ran = run_async(compress, tmp_path)  # type: ignore[arg-type]
        assert not any(step.failure for step in ran.steps)

    def test_they_can_take_turns_on_one_store(self) -> None:
        """Two memories on one store object, as where a part of an application is async."""
        store = InMemoryStore()
        one, other = MemoryController(store, quiet), AsyncMemoryController(store, quiet)
        state = one.step(None, Turn.said("turn one"), thread="t").state
        state = asyncio.run(other.step(state, Turn.said("turn two"), thread="t")).state
        state = one.step(state, Turn.said("turn three"), thread="t").state
        state = asyncio.run(other.step(state, Turn.said("turn four"), thread="t")).state
        branch = MemoryController(store)._log_of(Thread(thread="t")).branch(state.branch)
        assert [a.text for a in branch.artifacts] == [
            f"turn {n}" for n in ("one", "two", "three", "four")
        ]


# --- writers at once ----------------------------------------------------------------------


class Held:
    """A compressor that waits until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, turn: Turn, *_: object) -> Proposal:
        self.begun.set()
        assert self.go.wait(20)
        return noting(turn)


class TestWritersAtOnce:
    @pytest.mark.parametrize("same_turn", [True, False])
    def test_the_second_step_of_a_thread_is_refused_and_the_first_unharmed(
        self, same_turn: bool
    ) -> None:
        held = Held()
        store = InMemoryStore()
        memory = MemoryController(store, held)
        turn = Turn.said("the first")
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(memory.step, None, turn, thread="t")
            assert held.begun.wait(20)
            second = turn if same_turn else Turn.said("the second")
            with pytest.raises(ConflictError, match="is running"):
                memory.step(None, second, thread="t")
            with pytest.raises(ConflictError):
                MemoryController(store, quiet).step(None, second, thread=Thread(thread="t"))
            held.go.set()
            done = first.result(20)
        assert done.state.turn == 1
        assert not done.failure
        branch = memory._log_of(Thread(thread="t")).branch("main")
        assert [a.text for a in branch.artifacts] == ["the first"]
        assert memory.step(done.state, Turn.said("next"), thread="t").state.turn == 2

    def test_the_same_from_two_tasks(self) -> None:
        async def race() -> list[object]:
            go = asyncio.Event()

            async def slow(turn: Turn, *_: object) -> Proposal:
                await go.wait()
                return noting(turn)

            memory = AsyncMemoryController(InMemoryStore(), slow)  # type: ignore[arg-type]
            steps = [
                asyncio.create_task(memory.step(None, Turn.said(text), thread="t"))
                for text in ("first", "second")
            ]
            await asyncio.wait(steps, return_when=asyncio.FIRST_COMPLETED)
            go.set()
            return await asyncio.gather(*steps, return_exceptions=True)

        first, second = asyncio.run(race())
        assert isinstance(first, Step)
        assert isinstance(second, ConflictError)

    def test_another_thread_of_the_same_name_is_not_in_the_way(self) -> None:
        held = Held()
        memory = MemoryController(InMemoryStore(), held)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(memory.step, None, Turn.said("x"), thread="t")
            assert held.begun.wait(20)
            held.go.set()
            memory.step(None, Turn.said("y"), thread=Thread(thread="t", user="other"))
            first.result(20)

    @pytest.mark.parametrize("audited", [pytest.param(False, marks=pytest.mark.slow), True])
    @pytest.mark.parametrize("kept", [pytest.param(1 << 30, marks=pytest.mark.slow), 20_000])
    def test_different_threads_in_parallel(
        self, audited: bool, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Eight workers, also where fewer threads are kept in memory than are busy."""
        monkeypatch.setattr(acc.thread.registry, "MOST_BYTES", kept)
        store = InMemoryStore()
        memory = MemoryController(store, crowd, Settings(audit=tmp_path if audited else None))
        start = threading.Barrier(8)
        gone: dict[str, list[str]] = {}

        def work(name: str) -> State:
            start.wait()
            state: State | None = None
            left = gone.setdefault(name, [])
            for n in range(12):
                done = memory.step(state, Turn.said(f"{name} says {n}"), thread=name)
                state = done.state
                left += [x.item.words for x in done.commit.set_aside]
            assert state is not None
            return state

        names = [f"thread {n}" for n in range(8)]
        with ThreadPoolExecutor(8) as pool:
            states = dict(zip(names, pool.map(work, names), strict=True))
        for log in list(memory._threads._logs.values()):
            log.flush()
        fresh = MemoryController(store, quiet)
        for name, state in states.items():
            branch = fresh._log_of(Thread(thread=name)).branch(state.branch)
            said = [a.text for a in branch.artifacts if a.kind == "observation"]
            aside = [a.text for a in branch.artifacts if a.kind == "set_aside"]
            assert said == [f"{name} says {n}" for n in range(12)]
            assert aside == gone[name]
        if audited:
            for path in tmp_path.glob("*.jsonl"):
                assert verify(AuditLog(path), {Policy().fingerprint: Policy()}) == 12

    def test_a_compressor_that_steps_its_own_thread_fails_by_itself(self) -> None:
        def recursive(turn: Turn, state: State, _: Sequence[Evidence]) -> Proposal:
            return memory.step(state, turn, thread="t").commit  # type: ignore[return-value]

        memory = MemoryController(InMemoryStore(), recursive)
        done = memory.step(None, Turn.said("x"), thread="t")
        assert done.failure.startswith("ConflictError")
        assert done.commit.held


def crowd(turn: Turn, state: State, _: Sequence[Evidence]) -> Proposal:
    named = [
        add("focal_entities", turn.observations[-1].ref, type="host", name=f"host-{state.turn}-{n}")
        for n in range(9)
    ]
    return Proposal(items=tuple(named))


# --- failures -----------------------------------------------------------------------------


class SoreError(Exception):
    """An error that cannot even be told."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


FAILURES: list[Exception] = [
    CompressionError("no"), TimeoutError("slow"), ValueError(), KeyError("x"),
    RecursionError("deep"), MemoryError(), StopIteration(), StopAsyncIteration(),
    AssertionError("a"), OSError(5, "io"),
    ConnectionError("reset"), StoreError("s"), PinnedOverflow("p", items=("c1",)), StateError("s"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), ExceptionGroup("many", [ValueError("a")]),
    RuntimeError("a lone \ud800 surrogate and \x00 NUL"), RuntimeError("x" * 100_000), SoreError(),
]  # fmt: skip
INTERRUPTS: list[BaseException] = [
    KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError(), GeneratorExit(),
]  # fmt: skip
GARBAGE: list[object] = [
    None, "text", {}, [], 7, object(), Proposal, (Proposal(),), Proposal(mode="rewrite"),
]  # fmt: skip


def stepping(memory: Memory, state: State | None, turn: Turn) -> Step:
    if isinstance(memory, AsyncMemoryController):
        return asyncio.run(memory.step(state, turn, thread="t"))
    assert isinstance(memory, MemoryController)
    return memory.step(state, turn, thread="t")


CONTROLLERS = pytest.mark.parametrize("kind", [MemoryController, AsyncMemoryController])


@CONTROLLERS
class TestFailures:
    def _after_one(self, kind: type[Memory], second: object, folder: Path | None = None) -> Step:
        """A turn that goes well, then one in which the compressor does as told."""
        calls: list[int] = []

        def compress(turn: Turn, *_: object) -> Proposal:
            calls.append(turn.number)
            if len(calls) == 1:
                return Proposal(
                    items=(rule("Never restart nginx", "u1"), fact("db", "port", "5432", "u1"))
                )
            if isinstance(second, BaseException):
                raise second
            return second  # type: ignore[return-value]

        self.memory = kind(InMemoryStore(), compress, Settings(audit=folder))
        self.first = stepping(
            self.memory, None, Turn.said("Never restart nginx. The db port is 5432.")
        )
        assert not self.first.commit.refused
        return stepping(self.memory, self.first.state, Turn.said("Go on then."))

    @pytest.mark.parametrize("error", FAILURES, ids=lambda e: type(e).__name__)
    def test_any_exception_holds_the_last_items(
        self, kind: type[Memory], error: Exception, tmp_path: Path
    ) -> None:
        done = self._after_one(kind, error, tmp_path)
        self._check_held(done)
        assert type(error).__name__ in done.failure
        (path,) = tmp_path.glob("*.jsonl")
        assert verify(AuditLog(path), {Policy().fingerprint: Policy()}) == 2

    @pytest.mark.parametrize("garbage", GARBAGE, ids=lambda g: type(g).__name__)
    def test_so_does_garbage(self, kind: type[Memory], garbage: object) -> None:
        self._check_held(self._after_one(kind, garbage))

    def test_so_does_a_proposal_that_is_none_inside(self, kind: type[Memory]) -> None:
        hollow = Proposal.model_construct(mode="revise", items=None, retire=None)
        self._check_held(self._after_one(kind, hollow))

    def _check_held(self, done: Step) -> None:
        assert done.commit.held
        assert done.failure
        assert [i.words for _, i in done.state.items()] == [
            i.words for _, i in self.first.state.items()
        ]
        assert [o.text for o in done.state.pending] == ["Go on then."]
        assert (done.state.turn, done.state.version) == (2, 2)

    @pytest.mark.parametrize("interrupt", INTERRUPTS, ids=lambda e: type(e).__name__)
    def test_an_interrupt_passes_through_and_the_thread_goes_on(
        self, kind: type[Memory], interrupt: BaseException
    ) -> None:
        if kind is AsyncMemoryController and isinstance(interrupt, GeneratorExit):
            pytest.skip("a coroutine may not raise it")
        with pytest.raises(type(interrupt)):
            self._after_one(kind, interrupt)
        self.memory.compressor = noting
        done = stepping(self.memory, self.first.state, Turn.said("Go on then."))
        assert not done.failure
        branch = self.memory._log_of(Thread(thread="t")).branch("main")
        assert [a.text for a in branch.artifacts][1:] == ["Go on then."]

    def test_the_next_success_folds_what_is_pending(self, kind: type[Memory]) -> None:
        self._after_one(kind, ValueError("no"))
        read: list[Turn] = []

        def look(turn: Turn, *_: object) -> Proposal:
            read.append(turn)
            return Proposal(items=(event("Both were read.", "u2", "u3"),))

        self.memory.compressor = look
        held = stepping(self.memory, self.first.state, Turn.said("Go on then."))
        self.memory.compressor = ScriptedCompressor([ValueError("no"), look])
        held = stepping(self.memory, self.first.state, Turn.said("Go on then."))
        done = stepping(self.memory, held.state, Turn.said("Still there?"))
        assert [o.ref for o in read[-1].pending] == ["u2"]
        assert done.state.pending == ()
        assert not done.commit.refused

    def test_the_fallback_proposes_instead(self, kind: type[Memory]) -> None:
        memory = kind(InMemoryStore(), FailingCompressor(), Settings(fallback=noting))
        done = stepping(memory, None, Turn.said("x"))
        assert not done.commit.held
        assert "always fails" in done.failure
        assert [e.text for e in done.state.episodic_trace] == ["Turn 1 was read."]

    def test_a_fallback_that_fails_as_well_holds(self, kind: type[Memory]) -> None:
        second = FailingCompressor(TimeoutError("slow"))
        memory = kind(InMemoryStore(), FailingCompressor(), Settings(fallback=second))
        done = stepping(memory, None, Turn.said("x"))
        assert done.commit.held
        assert "always fails" in done.failure
        assert "slow" in done.failure

    def test_for_ever_failing_the_pending_stay_bounded_and_the_rules_fold_them(
        self, kind: type[Memory]
    ) -> None:
        memory = kind(InMemoryStore(), FailingCompressor())
        state = None
        folded = 0
        for n in range(40):
            done = stepping(memory, state, Turn.said(f"Never touch host-{n % 5}, part {n % 20}."))
            state = done.state
            folded += not done.commit.held
            assert done.commit.tokens <= 800
            assert len(state.pending) <= 12
        assert folded > 0
        assert state is not None
        assert state.constraints

    def test_a_step_that_overflows_leaves_the_thread_usable(self, kind: type[Memory]) -> None:
        def greedy(turn: Turn, *_: object) -> Proposal:
            texts = turn.user_words.split("\n")
            return Proposal(items=tuple(rule(text, "u1") for text in texts))

        memory = kind(InMemoryStore(), greedy)
        words = "\n".join(f"Never touch host-{n}" for n in range(30))
        with pytest.raises(PinnedOverflow):
            stepping(memory, None, Turn.said(words))
        memory.compressor = quiet
        assert stepping(memory, None, Turn.said(words)).state.turn == 1


class TestCancelling:
    def test_a_cancelled_step_leaves_the_thread_usable(self) -> None:
        async def cancel() -> Step:
            begun = asyncio.Event()

            async def stuck(*_: object) -> Proposal:
                begun.set()
                await asyncio.Event().wait()
                return Proposal()

            memory = AsyncMemoryController(InMemoryStore(), stuck)  # type: ignore[arg-type]
            step = asyncio.create_task(memory.step(None, Turn.said("x"), thread="t"))
            await begun.wait()
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step
            memory.compressor = noting
            return await memory.step(None, Turn.said("x"), thread="t")

        done = asyncio.run(cancel())
        assert done.state.turn == 1
        assert not done.failure


# --- update_state -------------------------------------------------------------------------


class TestUpdateState:
    def test_it_needs_neither_store_nor_framework(self) -> None:
        done = update_state(None, Turn.said("Never restart nginx during business hours."))
        assert [c.text for c in done.state.constraints]
        again = update_state(done.state, Turn.said("Alice owns checkout."))
        assert (again.state.turn, again.state.parent) == (2, done.state.hash)

    def test_what_is_no_part_of_it_is_told(self) -> None:
        turn = Turn.said("Go on.")
        odd: Any
        for odd in ("rules", 5):
            with pytest.raises(ConfigurationError, match="compressor"):
                update_state(None, turn, compressor=odd)
        odd = "hi"
        with pytest.raises(InputError, match=r"Turn\.said"):
            update_state(None, odd)
        with pytest.raises(ConfigurationError, match="fallback"):
            update_state(None, turn, fallback=odd)
        with pytest.raises(ConfigurationError, match=r"MemoryController\.open"):
            MemoryController(odd)

    def test_it_takes_the_canonical_state_and_says_why_a_compressor_failed(self) -> None:
        def failing(*_: Any) -> Proposal:
            raise ZeroDivisionError("odd")

        state = update_state(None, Turn.said("Never restart nginx.")).state
        done = update_state(state.canonical(), Turn.said("Go on."), compressor=failing)
        assert "ZeroDivisionError" in done.failure
        assert done.explain().startswith("compression failed: ")
        assert [c.text for c in done.state.constraints] == ["Never restart nginx"]

    def test_asynchronously_it_is_the_same_and_awaits_the_compressor(self) -> None:
        class Awaited:
            def __call__(self, *_: Any) -> Proposal:
                raise AssertionError("awaited")

            async def acompress(self, *asked: Any) -> Proposal:
                await asyncio.sleep(0)
                return RuleCompressor()(*asked)

        async def update() -> tuple[Commit, Commit, Commit]:
            first = await aupdate_state(None, Turn.said("Never restart nginx."))
            second = await aupdate_state(
                first.state, Turn.said("Alice owns checkout."), compressor=Awaited()
            )
            failing = FailingCompressor()
            third = await aupdate_state(second.state, Turn.said("x"), compressor=failing)
            return first, second, third

        first, second, third = asyncio.run(update())
        alone = update_state(None, Turn.said("Never restart nginx."))
        assert first == alone
        assert second == update_state(alone.state, Turn.said("Alice owns checkout."))
        assert "always fails" in third.failure
        assert third.held

    def test_asynchronously_what_is_no_part_of_it_is_told_too(self) -> None:
        odd: Any = "hi"
        with pytest.raises(InputError, match=r"Turn\.said"):
            asyncio.run(aupdate_state(None, odd))
        with pytest.raises(ConfigurationError, match="compressor"):
            asyncio.run(aupdate_state(None, Turn.said("x"), compressor=odd))

    def test_it_is_the_loop_without_recall(self) -> None:
        memory = MemoryController(InMemoryStore(), None, Settings(clock=FixedClock()))
        state = alone = None
        for text in ("Never restart nginx.", "Alice owns checkout.", "Bob is on call."):
            state = memory.step(state, Turn.said(text), thread="t").state
            alone = update_state(alone, Turn.said(text)).state
        assert state is not None
        assert alone is not None
        assert [*state.items()] == [*alone.items()]
        assert (state.version, state.turn, alone.bound_to) == (alone.version, alone.turn, "")

    def test_it_cuts_a_long_turn_as_the_loop_does(self) -> None:
        lines = [f"row {n}: nothing of note" for n in range(4_000)]
        lines[2_000] = "the hotel in Lisbon is the Bairro"
        turn = turn_of(tool("\n".join(lines)), user("Which hotel in Lisbon?"))
        read: list[Turn] = []

        def look(turn: Turn, *_: object) -> Proposal:
            read.append(turn)
            return Proposal()

        update_state(None, turn, compressor=look)
        MemoryController(InMemoryStore(), look).step(None, turn, thread="t")
        alone, looped = read
        assert "the Bairro" in looped.observations[0].text
        assert alone.observations == looped.observations

    def test_a_failing_compressor_holds(self) -> None:
        done = update_state(None, Turn.said("x"), compressor=FailingCompressor())
        assert done.held
        assert [o.text for o in done.state.pending] == ["x"]
        again = update_state(done.state, Turn.said("y"), compressor=noting)
        assert again.state.pending == ()

    def test_an_interrupt_passes(self) -> None:
        with pytest.raises(KeyboardInterrupt):
            update_state(None, Turn.said("x"), compressor=FailingCompressor(KeyboardInterrupt()))

    def test_evidence_of_the_callers_can_be_cited(self) -> None:
        evidence = [Evidence(channel="tool", text="port 443", ref="t9", turn=9)]
        proposal = Proposal(items=(fact("web", "port", "443", "t9", status="observed"),))
        done = update_state(
            None, Turn.said("Which port?"), compressor=lambda *_: proposal, evidence=evidence
        )
        assert [r.sources for r in done.state.relational_map] == [("t9",)]
        assert done.state.relational_map[0].trust is Trust.TOOL


# --- states that were edited --------------------------------------------------------------


def a_state() -> State:
    proposal = Proposal(items=(rule("Never restart nginx", "u1"), fact("db", "port", "5432", "u1")))
    turn = Turn.said("Never restart nginx. The db port is 5432.")
    return update_state(None, turn, compressor=lambda *_: proposal).state


class TestEditedStates:
    def edited(self) -> dict[str, Any]:
        raw = a_state().canonical()
        raw["relational_map"][0]["object"] = "6666"
        return raw

    @pytest.mark.parametrize("form", ["dict", "json", "state"])
    def test_an_edited_one_is_an_error(self, form: str) -> None:
        raw: Any = self.edited()
        raw = json.dumps(raw) if form == "json" else raw
        raw = State.model_validate(raw) if form == "state" else raw
        store = InMemoryStore()
        memory = MemoryController(store, quiet)
        with pytest.raises(StateError, match="changed"):
            memory.step(raw, Turn.said("x"), thread="t")
        assert memory._log_of(Thread(thread="t")).branch("main").artifacts == []
        with pytest.raises(StateError, match="changed"):
            memory.record([agent("x")], state=raw, thread="t")

    @pytest.mark.parametrize("form", ["dict", "json", "state"])
    def test_an_honest_one_is_taken_in_any_form(self, form: str) -> None:
        raw: Any = a_state().canonical()
        raw = json.dumps(raw) if form == "json" else raw
        raw = State.model_validate(raw) if form == "state" else raw
        done = MemoryController(InMemoryStore(), quiet).step(raw, Turn.said("x"), thread="t")
        assert done.state.parent == a_state().hash

    def test_it_may_be_adopted_at_a_lower_trust(self) -> None:
        adopted = State.load(self.edited(), adopt=Trust.TOOL)
        assert {item.trust for _, item in adopted.items()} == {Trust.TOOL}
        done = MemoryController(InMemoryStore(), quiet).step(adopted, Turn.said("x"), thread="t")
        assert done.state.parent == adopted.hash

    def test_adopting_never_raises_trust(self) -> None:
        raw = self.edited()
        raw["relational_map"][0]["trust"] = "tool"
        adopted = State.load(raw, adopt=Trust.USER)
        assert adopted.relational_map[0].trust is Trust.TOOL

    @pytest.mark.parametrize(
        "garbage", ["", "{", "[]", {}, {"turn": "x"}, 7, b"\xff", {"schema_name": "Other"}, [1]]
    )
    def test_what_is_no_state_is_a_state_error(self, garbage: Any) -> None:
        memory = MemoryController(InMemoryStore(), quiet)
        with pytest.raises(StateError):
            memory.step(garbage, Turn.said("x"), thread="t")


# --- threads kept in memory, closing ------------------------------------------------------


class Counting(InMemoryStore):
    """Counts its reads."""

    reads = 0

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        self.reads += 1
        return super().get(tenant, ids)


class Slow(InMemoryStore):
    """Once, holds a read of the records of the thread ``held`` until ``go``."""

    def __init__(self) -> None:
        super().__init__()
        self.held = ""
        self.begun, self.go = threading.Event(), threading.Event()

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        found = super().get(tenant, ids)
        if self.held and f"{self.held}.main:" in ids[0]:
            self.held = ""
            self.begun.set()
            assert self.go.wait(20)
        return found


class TestThreadsInMemory:
    def test_the_least_recently_used_goes_and_comes_back(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(acc.thread.registry, "MOST_BYTES", 150_000)
        memory = MemoryController(InMemoryStore(), crowd)
        states: dict[str, State] = {}
        for n in range(4):
            for name in "abcde":
                before = states.get(name)
                states[name] = memory.step(before, Turn.said(f"{name}{n}"), thread=name).state
                assert memory._threads._sizes.total() <= 150_000
        assert len(memory._threads._logs) < 5
        for name in "abcde":
            branch = memory._log_of(Thread(thread=name)).branch("main")
            said = [a.text for a in branch.artifacts if a.kind == "observation"]
            assert said == [f"{name}{n}" for n in range(4)]

    def test_a_long_thread_stays_among_many_short_ones(self) -> None:
        shelf = Counting()
        memory = MemoryController(shelf, quiet)
        state = memory.step(None, Turn.said("x"), thread="long").state
        for n in range(200):
            memory.step(None, Turn.said("y"), thread=f"short {n}")
        before = shelf.reads
        memory.step(state, Turn.said("z"), thread="long")
        assert shelf.reads - before < 5

    def test_others_go_on_while_a_long_thread_is_read(self) -> None:
        """The reading of a log that is not open does not hold the lock of the memory."""
        shelf = Slow()
        first = MemoryController(shelf, quiet)
        state = first.step(None, Turn.said("x"), thread="long").state
        first._forget()
        long = Thread(thread="long").key
        with ThreadPoolExecutor(1) as pool:
            shelf.held = long
            waiting = pool.submit(first.step, state, Turn.said("y"), thread="long")
            assert shelf.begun.wait(20)
            first.step(None, Turn.said("z"), thread="other")
            shelf.go.set()
            assert waiting.result(20).state.turn == 2

    def test_a_log_that_was_written_and_evicted_while_it_is_read_is_read_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf = Slow()
        memory = MemoryController(shelf, quiet)
        state = memory.step(None, Turn.said("x"), thread="long").state
        monkeypatch.setattr(acc.thread.registry, "MOST_BYTES", 1)
        memory._forget()
        with ThreadPoolExecutor(1) as pool:
            shelf.held = Thread(thread="long").key
            waiting = pool.submit(memory.step, state, Turn.said("y"), thread="long")
            assert shelf.begun.wait(20)
            shelf.held = ""
            memory.record([agent("done")], state=state, thread="long")
            memory.step(None, Turn.said("z"), thread="other")  # evicts the log
            shelf.go.set()
            done = waiting.result(20)
        texts = [a.text for a in memory._log_of(Thread(thread="long")).branch("main").artifacts]
        assert texts == ["x", "done", "y"]
        assert [o.text for o in done.turn.observations] == ["done", "y"]

    def test_ends_of_audit_logs_are_kept_for_a_limited_number(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(acc.memory, "MOST_AUDITS", 2)
        memory = MemoryController(InMemoryStore(), quiet, Settings(audit=tmp_path))
        states: dict[str, State | None] = {}
        for n in range(3):
            for name in "abcd":
                states[name] = memory.step(states.get(name), Turn.said(f"{n}"), thread=name).state
                assert len(memory._audits) <= 2
        for name, state in states.items():
            assert memory.last_state(name) == state

    def test_what_waits_is_written_when_it_goes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(acc.thread.registry, "MOST_BYTES", 1)
        store = InMemoryStore()
        memory = MemoryController(store, crowd, Settings(audit=tmp_path))
        state = memory.step(None, Turn.said("x"), thread="a").state
        gone = memory.step(state, Turn.said("y"), thread="a").commit.set_aside
        assert gone
        memory.step(None, Turn.said("z"), thread="b")
        branch = MemoryController(store)._log_of(Thread(thread="a")).branch("main")
        kept = [a.text for a in branch.artifacts if a.kind == "set_aside"]
        assert kept == [x.item.words for x in gone]


class TestClosing:
    def test_it_may_be_repeated(self, tmp_path: Path) -> None:
        memory = MemoryController.open(tmp_path, compressor=quiet)
        memory.step(None, Turn.said("x"), thread="t")
        memory.close()
        memory.close()

    def test_use_afterwards_is_a_store_error(self, tmp_path: Path) -> None:
        with MemoryController.open(tmp_path, compressor=quiet) as memory:
            state = memory.step(None, Turn.said("x"), thread="t").state
        uses: list[Callable[[], object]] = [
            lambda: memory.step(state, Turn.said("y"), thread="t"),
            lambda: memory.record([agent("y")], state=state, thread="t"),
            lambda: memory.open_evidence("u1", state=state, thread="t"),
        ]
        for use in uses:
            with pytest.raises(StoreError, match="closed"):
                use()
        memory.close()

    def test_a_closed_path_can_be_opened_again_and_goes_on(self, tmp_path: Path) -> None:
        with MemoryController.open(tmp_path, compressor=quiet) as memory:
            memory.step(None, Turn.said("the first word"), thread="t")
        with MemoryController.open(tmp_path, compressor=quiet) as memory:
            state = memory.last_state("t")
            assert state is not None
            done = memory.step(state, Turn.said("What was the first word?"), thread="t")
            assert [e.text for e in done.evidence] == ["the first word"]

    def test_an_open_path_is_locked(self, tmp_path: Path) -> None:
        with (
            MemoryController.open(tmp_path),
            pytest.raises(StoreLockedError),
        ):
            MemoryController.open(tmp_path)

    def test_an_opening_that_fails_lets_go_of_the_path(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError) as kept:
            MemoryController.open(tmp_path, floor=-1)
        assert kept.value.__traceback__ is not None
        MemoryController.open(tmp_path).close()

    def test_a_store_that_cannot_take_what_waits_is_released_all_the_same(
        self, tmp_path: Path
    ) -> None:
        released: list[str] = []

        class Full(InMemoryStore):
            full = False

            def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
                if self.full:
                    raise StoreError("the disk is full")
                super().add(tenant, artifacts)

            def close(self) -> None:
                released.append("store")

        store = Full()
        memory = MemoryController(store, crowd, Settings(audit=tmp_path))
        state = memory.step(None, Turn.said("x"), thread="t").state
        memory.step(state, Turn.said("y"), thread="t")
        store.full = True
        with pytest.raises(StoreError, match="full"):
            memory.close()
        assert released == ["store"]

    def test_a_store_may_be_any_object_with_the_methods(self) -> None:
        @dataclass
        class Plain:
            inner: InMemoryStore = field(default_factory=InMemoryStore)
            shared: bool = False

            def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
                self.inner.add(tenant, artifacts)

            def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
                return self.inner.get(tenant, ids)

            def close(self) -> None:
                self.inner.close()

        done = MemoryController(Plain(), quiet).step(None, Turn.said("x"), thread="t")
        assert done.state.turn == 1

    def test_evidence_is_opened_by_the_refs_of_the_state(self) -> None:
        memory = MemoryController(InMemoryStore(), quiet)
        done = memory.step(None, turn_of(tool("port 443"), user("Which?")), thread="t")
        assert memory.open_evidence("t1", state=done.state, thread="t") == "port 443"
        with pytest.raises(InputError, match="t2"):
            memory.open_evidence("t2", state=done.state, thread="t")


# --- the check of a state ------------------------------------------------------------------


class TestCheck:
    def test_an_item_that_was_edited_in_place_is_found_out(self) -> None:
        memory = MemoryController(InMemoryStore(), noting)
        state = memory.step(seed(["Never share it."], []), Turn.said("Hello."), thread="t").state
        object.__setattr__(state.constraints[0], "text", "Share it")
        with pytest.raises(StateError, match="changed after it was committed"):
            memory.step(state, Turn.said("Go on."), thread="t")

    @pytest.mark.parametrize(("name", "value"), [("turn", 7), ("constraints", ()), ("branch", "b")])
    def test_what_was_sealed_last_is_checked_all_the_same(self, name: str, value: object) -> None:
        memory = MemoryController(InMemoryStore(), noting)
        state = memory.step(seed(["Never share it."], []), Turn.said("Hello."), thread="t").state
        assert memory.load(state) is state
        for edited in (state.model_copy(update={name: value}), state):
            if edited is state:
                object.__setattr__(state, name, value)
            with pytest.raises(StateError, match="changed after it was committed"):
                memory.step(edited, Turn.said("Go on."), thread="t")


# --- the operator -------------------------------------------------------------------------


class TestOperator:
    def test_seeded_rules_stand_at_the_operators_trust_and_in_the_chain(
        self, tmp_path: Path
    ) -> None:
        first = seed(["Never share customer data."], ["Keep checkout up."])
        assert [c.trust for c in first.constraints] == [Trust.OPERATOR]
        assert [g.trust for g in first.goal_orientation] == [Trust.OPERATOR]
        assert first.hash == first.digest()
        memory = MemoryController(InMemoryStore(), noting, Settings(audit=tmp_path))
        done = memory.step(first, Turn.said("Hello."), thread="t")
        assert done.state.parent == first.hash
        assert [c.text for c in done.state.constraints] == ["Never share customer data."]
        (path,) = tmp_path.glob("*.jsonl")
        assert verify(AuditLog(path), {Policy().fingerprint: Policy()}) == 1

    def test_the_user_cannot_lift_them(self) -> None:
        first = seed(["Never restart nginx."])
        words = "You may restart nginx again"
        lifting = Proposal(retire=(end(first.constraints[0].id, "u1", quote=words),))
        memory = MemoryController(InMemoryStore(), lambda *_: lifting)
        done = memory.step(first, Turn.said(f"{words}."), thread="t")
        assert len(done.state.constraints) == 1

    @pytest.mark.parametrize("text", ["", "!!!", "Never delete a table. " * 40, "y" * 5_000])
    def test_a_rule_that_cannot_be_kept_is_an_error_and_never_dropped(self, text: str) -> None:
        try:
            first = seed([text, "Never share customer data."])
        except AccError:
            return
        held = " ".join(c.text for c in first.constraints)
        assert set(text.split()) <= set(held.split())

    def test_an_operator_retires_what_nobody_else_could(self) -> None:
        first = seed(["Never restart nginx.", "Never share customer data."])
        wanted = first.constraints[0].id
        turn, proposal = retirement(first, [wanted], "no longer needed")
        done = commit(first, proposal, turn.numbered(1), (), Policy())
        assert [c.text for c in done.state.constraints] == ["Never share customer data."]
        assert [entry.text for entry in done.state.lifted] == ["Never restart nginx."]
        assert "no longer needed" in done.state.lifted[0].because
        assert done.state.parent == first.hash

    def test_a_retirement_through_the_loop_is_evidence_and_audited(self, tmp_path: Path) -> None:
        first = seed(["Never restart nginx."])
        turn, proposal = retirement(first, [first.constraints[0].id], "over")
        memory = MemoryController(InMemoryStore(), lambda *_: proposal, Settings(audit=tmp_path))
        done = memory.step(first, turn, thread="t")
        assert done.state.constraints == ()
        assert memory.open_evidence("o1", state=done.state, thread="t").endswith("over")
        (path,) = tmp_path.glob("*.jsonl")
        assert verify(AuditLog(path), {Policy().fingerprint: Policy()}, head=done.state.hash) == 1


class TestStep:
    def test_the_clock_measures_each_stage(self) -> None:
        memory = MemoryController(InMemoryStore(), quiet, Settings(clock=FixedClock()))
        done = memory.step(None, Turn.said("x"), thread="t")
        assert done.ms == dict.fromkeys(
            ("store", "recall", "qualify", "compress", "commit", "keep"), 0.0
        )

    def test_it_explains_what_failed_and_what_was_refused(self) -> None:
        memory = MemoryController(InMemoryStore(), FailingCompressor())
        done = memory.step(None, Turn.said("x"), thread="t")
        assert "always fails" in done.explain()

    def test_a_proposal_is_never_changed(self) -> None:
        item = ProposedItem(slot="relational_map", fields={"subject": "a"}, cites=("u1",))
        proposal = Proposal(items=(item,))
        before = proposal.model_dump_json()
        MemoryController(InMemoryStore(), lambda *_: proposal).step(
            None, Turn.said("x"), thread="t"
        )
        assert proposal.model_dump_json() == before


# --- settings -----------------------------------------------------------------------------


class TestSettings:
    @pytest.mark.parametrize("wrong", [{"floor": -1}, {"gate": 5}])
    def test_a_wrong_setting_says_how_to_mend_it(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ConfigurationError, match="To fix"):
            MemoryController(InMemoryStore(), settings=Settings(**wrong))

    def test_a_compressor_is_a_callable(self) -> None:
        with pytest.raises(ConfigurationError, match="To fix"):
            MemoryController(InMemoryStore(), "gpt-4o")  # type: ignore[arg-type]

    @pytest.mark.parametrize("thread", ["", None])
    def test_a_thread_has_a_name(self, thread: str) -> None:
        with pytest.raises(InputError, match="To fix"):
            MemoryController(InMemoryStore()).step(None, Turn.said("Hello."), thread=thread)

    def test_a_turn_is_a_turn(self) -> None:
        with pytest.raises(InputError, match=r"Turn\.said"):
            MemoryController(InMemoryStore()).step(None, "Hello.", thread="t")  # type: ignore[arg-type]

    def test_a_gate_that_raises_refuses_and_stops_nothing(self) -> None:
        def broken(_candidate: object, _context: object) -> bool:
            raise ZeroDivisionError

        memory = MemoryController(InMemoryStore(), quiet, Settings(gate=broken))
        state = memory.step(None, Turn.said("The port is 443."), thread="t").state
        done = memory.step(state, Turn.said("Which port?"), thread="t")
        assert [v.admitted for v in done.verdicts] == [False]
        assert "ZeroDivisionError" in done.verdicts[0].reason


@pytest.mark.parametrize("decision", [[{"role": "assistant", "content": "Done."}], "Done.", 5])
def test_a_decision_that_is_none_is_told(decision: Any) -> None:
    with MemoryController(InMemoryStore()) as memory, pytest.raises(InputError):
        memory.record(decision, state=None, thread="t")
