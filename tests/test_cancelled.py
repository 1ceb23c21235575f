"""Cancelled, timed out and closed calls: nothing that was said is lost, and nothing is overtaken.

A store and a clock that wait at a chosen call stand for slow ones. The step is cancelled there, at every
call of the step in turn: before, in and after each stage. Then the thread goes on from the state that
its caller still holds.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import pytest
from cancelling import (
    FIRST,
    NEXT,
    RULE,
    Hanging,
    Shared,
    Slow,
    SlowClock,
    State,
    check,
    heard,
    memory_on,
)
from strategies import call, tool

from acc import Settings
from acc.audit.verify import verify
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConflictError, PinnedOverflow, StoreError
from acc.keyless.compressor import RuleCompressor
from acc.pipeline.session import OnOverflow
from acc.state.items import Constraint
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.slots import Slot
from acc.stores.protocol import Artifact, Thread
from acc.turn.observations import Trust
from acc.turn.turn import Turn


async def cancelled(task: asyncio.Task[Any], store: Slow) -> None:
    """Cancel ``task``, which waits for the store; then let the store go."""
    task.cancel()
    await asyncio.sleep(0)
    store.let_go()
    with pytest.raises(asyncio.CancelledError):
        await task


async def timed_out(task: asyncio.Task[Any], store: Slow) -> None:
    async def letting_go() -> None:
        await asyncio.sleep(0)
        store.let_go()

    going = asyncio.create_task(letting_go())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await task
    await going


async def cancelled_twice(task: asyncio.Task[Any], store: Slow) -> None:
    """The second cancellation ends the wait for the write, not the write."""
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store.let_go()


async def cancelled_by_nobody_who_waits(task: asyncio.Task[Any], store: Slow) -> None:
    """As a chat does that sends the next message at once."""
    task.cancel()
    store.let_go()


WAYS = [cancelled, timed_out, cancelled_twice, cancelled_by_nobody_who_waits]


def points(store: type[Slow], audit: Path | None) -> int:
    """How many calls of the store one step makes."""

    async def run() -> int:
        slow = store()
        memory = memory_on(slow, audit)
        state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
        slow.hold(None)
        await memory.step(state, Turn.said(RULE), thread="t")
        return slow.calls

    return asyncio.run(run())


def cases() -> Iterator[Any]:
    """Fast are those that differ in at most one thing from the plainest."""
    for kind, audited, way in product([Slow, Shared], [True, False], WAYS):
        fast = (kind is not Slow) + audited + (way is not cancelled) <= 1
        name = f"{kind.__name__}-{'audited' if audited else 'no audit log'}-{way.__name__}"
        yield pytest.param(kind, audited, way, id=name, marks=[] if fast else [pytest.mark.slow])


@pytest.mark.parametrize(("kind", "audited", "way"), list(cases()))
def test_a_step_that_is_cancelled_at_any_call_of_the_store_is_heard(
    kind: type[Slow],
    audited: bool,
    way: Callable[[asyncio.Task[Any], Slow], Awaitable[None]],
    tmp_path: Path,
) -> None:
    async def run(at: int, audit: Path | None) -> None:
        store = kind()
        memory = memory_on(store, audit)
        state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
        store.hold(at)
        task = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
        await asyncio.to_thread(store.waits.wait, 20)
        await way(task, store)
        done = await memory.step(state, Turn.said(NEXT), thread="t")
        await asyncio.wait([task])
        check(memory, done, RULE, NEXT)
        assert len(asyncio.all_tasks()) == 1
        after = await memory.step(done.state, Turn.said("Thanks."), thread="t")
        check(memory, after, RULE, NEXT, "Thanks.")
        assert after.recovered == ()

    count = points(kind, tmp_path / "count" if audited else None)
    assert count > 8
    for at in range(count):
        asyncio.run(run(at, tmp_path / str(at) if audited else None))


def test_work_that_no_thread_has_begun_is_done_before_the_next(tmp_path: Path) -> None:
    """The workers are busy: the cancelled step has not even begun to write."""

    async def run() -> None:
        busy = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            asyncio.get_running_loop().set_default_executor(pool)
            memory = memory_on(Slow(), tmp_path)
            state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
            pool.submit(busy.wait, 20)
            first = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
            await asyncio.sleep(0)
            first.cancel()
            second = asyncio.create_task(memory.step(state, Turn.said(NEXT), thread="t"))
            await asyncio.sleep(0)
            busy.set()
            check(memory, await second, RULE, NEXT)
            assert first.cancelled()

    asyncio.run(run())


class TwoRules(CompressedCognitiveState):
    """A state with room for two rules."""

    constraints: Annotated[
        tuple[Constraint, ...],
        Slot(max_items=2, min_trust=Trust.USER, pinned=True, quote=True, id_prefix="c"),
    ] = ()


RULES = ("Never deploy on Fridays.", "Always page Ana first.", RULE)
SMALL = Policy(schema=TwoRules)


def oldest_rule(overflow: PinnedOverflow) -> list[str]:
    assert overflow.state is not None
    return [overflow.state.constraints[0].id]


def full(
    store: Slow, audit: Path, on_overflow: OnOverflow | None
) -> tuple[AsyncMemoryController, Any]:
    """A memory whose thread has no room for another rule, and the thread's state."""
    settings = Settings(SMALL, clock=SlowClock(store), audit=audit, on_overflow=on_overflow)
    state = None
    filling = MemoryController(store, RuleCompressor(), settings)
    for text in RULES[:2]:
        state = filling.step(state, Turn.said(text), thread="t").state
    return AsyncMemoryController(store, RuleCompressor(), settings), state


@pytest.mark.parametrize("on_overflow", [None, lambda _: ()], ids=["none", "names nothing"])
@pytest.mark.parametrize("kind", [Slow, Shared])
def test_who_cancels_a_step_that_overflows_is_told_of_it_at_the_next_one(
    kind: type[Slow], on_overflow: OnOverflow | None, tmp_path: Path
) -> None:
    async def run(at: int | None, audit: Path) -> int:
        store = kind()
        memory, state = full(store, audit, on_overflow)
        store.hold(at)
        task = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
        if at is None:
            with pytest.raises(PinnedOverflow):
                await task
            calls = store.calls
        else:
            await asyncio.to_thread(store.waits.wait, 20)
            await cancelled(task, store)
            await asyncio.to_thread(memory._off_loop.settle)
            with pytest.raises(PinnedOverflow) as told:
                await memory.step(state, Turn.said(NEXT), thread="t")
            assert told.value.refused == (RULE.rstrip("."),), at
        done = await memory.step(state, Turn.said("Go on."), thread="t")
        assert heard(memory, done.state) == [*RULES[:2], "Go on."]
        return 0 if at is not None else calls

    for at in range(0, asyncio.run(run(None, tmp_path / "count")), 4):
        asyncio.run(run(at, tmp_path / str(at)))


@pytest.mark.parametrize("from_newest", [True, False])
@pytest.mark.parametrize("kind", [Slow, Shared])
def test_a_step_that_is_cancelled_while_room_is_made_is_heard(
    kind: type[Slow], from_newest: bool, tmp_path: Path
) -> None:
    """It goes on from the caller's state, or from the newest one: that of the operator who made room."""

    async def run(at: int | None, audit: Path) -> int:
        store = kind()
        memory, state = full(store, audit, oldest_rule)
        store.hold(at)
        task = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
        if at is None:
            assert (await task).room is not None
            return store.calls
        await asyncio.to_thread(store.waits.wait, 20)
        await cancelled(task, store)
        await asyncio.to_thread(memory._off_loop.settle)
        prior = await asyncio.to_thread(memory.last_state, "t") if from_newest else state
        done = await memory.step(prior, Turn.said(NEXT), thread="t")
        line = heard(memory, done.state)
        assert [text for text in line if not text.startswith("retire")] == [*RULES, NEXT], at
        assert RULE.rstrip(".") in [rule.text for rule in done.state.constraints], at
        log = memory._audit_of(Thread(thread="t"))
        assert log is not None
        verify(log, {SMALL.fingerprint: SMALL}, head=done.state.hash)
        return 0

    for at in range(from_newest, asyncio.run(run(None, tmp_path / "count")), 5):
        asyncio.run(run(at, tmp_path / str(at)))


def test_many_threads_that_are_cancelled_together(tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(20)]

    async def run() -> None:
        store = Slow()
        memory = memory_on(store, tmp_path)
        state = {n: (await memory.step(None, Turn.said(FIRST), thread=n)).state for n in names}
        store.hold(1)
        tasks = [
            asyncio.create_task(memory.step(state[n], Turn.said(RULE), thread=n)) for n in names
        ]
        await asyncio.to_thread(store.waits.wait, 20)
        for task in tasks:
            task.cancel()
        store.let_go()
        steps = await asyncio.gather(
            *(memory.step(state[n], Turn.said(NEXT), thread=n) for n in names)
        )
        await asyncio.wait(tasks)
        for name, step in zip(names, steps, strict=True):
            check(memory, step, RULE, NEXT, thread=name)

    asyncio.run(run())


def test_a_message_for_each_cancelled_one(tmp_path: Path) -> None:
    """An impatient user: nine messages, each cancels the one before."""
    said = [f"Never page host-{n}." for n in range(9)]

    async def run() -> None:
        store = Slow()
        memory = memory_on(store, tmp_path)
        state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
        store.hold(1)
        tasks: list[asyncio.Task[Any]] = []
        for words in said:
            for task in tasks[-1:]:
                task.cancel()
            tasks.append(asyncio.create_task(memory.step(state, Turn.said(words), thread="t")))
            await asyncio.sleep(0)
        store.let_go()
        done = await tasks[-1]
        await asyncio.wait(tasks)
        check(memory, done, *said)

    asyncio.run(run())


def test_a_step_that_is_cancelled_while_a_model_thinks_frees_the_thread(tmp_path: Path) -> None:
    async def run() -> None:
        compressor = Hanging(RULE)
        memory = memory_on(Slow(), tmp_path, compressor)
        state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
        task = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
        await compressor.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        check(memory, await memory.step(state, Turn.said(NEXT), thread="t"), RULE, NEXT)

    asyncio.run(run())


def test_a_coroutine_that_is_closed_leaves_its_write(tmp_path: Path) -> None:
    """What a loop does to its tasks when it is dropped: nothing can be awaited any more."""

    async def first(memory: AsyncMemoryController, store: Slow) -> tuple[State, Any]:
        state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
        store.hold(1)
        coroutine = memory.step(state, Turn.said(RULE), thread="t")
        coroutine.send(None)
        await asyncio.to_thread(store.waits.wait, 20)
        return state, coroutine

    async def second() -> None:
        store = Slow()
        memory = memory_on(store, tmp_path)
        state, coroutine = await first(memory, store)
        coroutine.close()
        store.let_go()
        check(memory, await memory.step(state, Turn.said(NEXT), thread="t"), RULE, NEXT)

    asyncio.run(second())


def test_what_is_recorded_by_a_cancelled_call_is_read_by_the_next_step(tmp_path: Path) -> None:
    acts = [call("restart(db-3)"), tool("14 rows lost")]

    async def begun(folder: Path) -> tuple[Slow, AsyncMemoryController, State]:
        store = Slow()
        memory = memory_on(store, folder)
        return store, memory, (await memory.step(None, Turn.said(FIRST), thread="t")).state

    async def calls() -> int:
        store, memory, state = await begun(tmp_path / "count")
        store.hold(None)
        await memory.record(acts, state=state, thread="t")
        return store.calls

    async def run(at: int) -> None:
        store, memory, state = await begun(tmp_path / str(at))
        store.hold(at)
        task = asyncio.create_task(memory.record(acts, state=state, thread="t"))
        await asyncio.to_thread(store.waits.wait, 20)
        task.cancel()
        store.let_go()
        done = await memory.step(state, Turn.said(RULE), thread="t")
        await asyncio.wait([task])
        check(memory, done, *(a.text for a in acts), RULE)

    for at in range(asyncio.run(calls())):
        asyncio.run(run(at))


def test_a_write_that_fails_behind_a_cancelled_call_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Full(Slow):
        def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
            super().add(tenant, artifacts)
            if any(a.text == RULE for a in artifacts):
                raise StoreError("the disk is full", hint="make room")

    async def run() -> None:
        store = Full()
        memory = memory_on(store, tmp_path)
        state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
        store.hold(0)
        task = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
        await asyncio.to_thread(store.waits.wait, 20)
        await cancelled(task, store)

    with caplog.at_level(logging.WARNING, "acc"):
        asyncio.run(run())
    assert "cause=StoreError" in caplog.text


def test_closing_waits_for_what_cancelled_calls_write(tmp_path: Path) -> None:
    class Kept(Slow):
        texts: tuple[str, ...] = ()

        def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
            super().add(tenant, artifacts)
            self.texts += tuple(a.text for a in artifacts if a.kind == "observation")

    async def run() -> tuple[str, ...]:
        store = Kept()
        async with memory_on(store, tmp_path) as memory:
            state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
            store.hold(1)
            task = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
            await asyncio.to_thread(store.waits.wait, 20)
            await cancelled_twice(task, store)
        return store.texts

    assert asyncio.run(run()) == (FIRST, RULE)


def test_another_step_under_way_is_still_a_conflict(tmp_path: Path) -> None:
    async def run() -> None:
        compressor = Hanging(RULE)
        memory = memory_on(Slow(), tmp_path, compressor)
        state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
        task = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
        await compressor.asked.wait()
        with pytest.raises(ConflictError, match="another step"):
            await memory.step(state, Turn.said(NEXT), thread="t")
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(run())


@pytest.fixture(autouse=True)
def no_thread_leaks() -> Iterator[None]:
    before = threading.active_count()
    yield
    for each in threading.enumerate():
        if each.name == "acc-lease":  # it ends by itself, soon after its step
            each.join(10)
    assert threading.active_count() <= before
